"""What lm-eval logged of every item, as rows of `lft.runs.items`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from lm_eval.api.task import Task

from lft.errors import RequestError
from lft.evaluation.answers import Row
from lft.evaluation.harness_model import HarnessModel
from lft.runs import content_hash

# Fields that name what several items are about.
PASSAGES = ("source_id", "passage_id", "passage", "article", "story", "paragraph", "context")
# The metric that decides what is right, where a task has several.
PRIMARY_METRICS = ("acc_norm", "acc", "exact_match")


def item_rows(
    task: Task, subtask: str, samples: Sequence[Mapping[str, Any]], model: HarnessModel, is_group: bool
) -> list[Row]:
    """The items of a task, one row each.

    Args:
        task: The task.
        subtask: Its name.
        samples: What lm-eval logged of every item.
        model: The model that was asked, which knows lengths.
        is_group: Whether the task is one of several, and so a category.

    Raises:
        RequestError: An item's right answer is none of its choices.
    """
    # A task with several filters has a sample for each; the first one's metrics decide what is right.
    rows: dict[int, Row] = {}
    for sample in samples:
        metrics = {name: sample[name] for name in sample["metrics"]}
        numbers = {
            name: float(value)
            for name, value in metrics.items()
            if isinstance(value, int | float | np.number)
        }
        row = rows.get(sample["doc_id"])
        if row is None:
            row = rows[sample["doc_id"]] = _row(task, subtask, sample, model, numbers)
            row["category"] = subtask if is_group else None
        else:
            numbers = {f"{name},{sample['filter']}": value for name, value in numbers.items()}
        row["metrics"] = {**row.get("metrics", {}), **numbers}
    return list(rows.values())


def _row(
    task: Task, subtask: str, sample: Mapping[str, Any], model: HarnessModel, metrics: Mapping[str, float]
) -> Row:
    document, requests, where = sample["doc"], sample["arguments"], f"{subtask} item {sample['doc_id']}"
    primary = next((name for name in PRIMARY_METRICS if name in metrics), None)
    row: Row = {
        "subtask": subtask,
        "output_type": task.OUTPUT_TYPE,
        "item": sample["doc_id"],
        "content": sample["doc_hash"][:16],
        "cluster": _cluster(document),
        "right": bool(metrics[primary]) if primary and metrics[primary] in (0, 1) else None,
        "weight": 1.0,
        "truncated_tokens": max(model.truncated.get(_key(request), 0) for request in requests),
    }
    if task.OUTPUT_TYPE == "generate_until":
        return {**row, "response": str(sample["resps"][0][0])}
    answers = [response[0] for response in sample["resps"]]
    lengths: list[int] | None = None
    if task.OUTPUT_TYPE != "multiple_choice":
        choices = [requests[0][-1]]
        log_probabilities = [answer[0] if isinstance(answer, tuple) else answer for answer in answers]
        # lm-eval counts the bytes of the text before it was prepared for the model.
        weighed = sample.get("bits_per_byte") or sample.get("byte_perplexity")
        if weighed:
            lengths = [int(weighed[1])]
    else:
        # Requests beyond the choices are their unconditional twins.
        choices = list(task.doc_to_choice(document))
        log_probabilities = [answer[0] for answer in answers[: len(choices)]]
        row |= _choice(task, document, choices, log_probabilities, primary, where)
    keys = [_key(request) for request in requests[: len(choices)]]
    return {
        **row,
        "log_probabilities": log_probabilities,
        "tokens": [model.tokens[key] for key in keys],
        "bytes": lengths or [len(choice.encode()) for choice in choices],
        "characters": [len(choice) for choice in choices],
    }


def _choice(
    task: Task,
    document: Mapping[str, Any],
    choices: Sequence[str],
    log_probabilities: Sequence[float],
    primary: str | None,
    where: str,
) -> Row:
    gold = task.doc_to_text(document) if getattr(task, "multiple_input", 0) else task.doc_to_target(document)
    labels = [
        choices.index(label) if isinstance(label, str) and label in choices else label
        for label in (gold if isinstance(gold, list) else [gold])
    ]
    if not all(isinstance(label, int) and 0 <= label < len(choices) for label in labels):
        raise RequestError(
            f"{where} names {gold!r} as right, which is none of its {len(choices)} choices; mend or remove it"
        )
    if not all(choices):
        raise RequestError(f"{where} has an empty choice; mend or remove the item")
    lengths = [len(choice) if primary == "acc_norm" else 1 for choice in choices]
    right_texts = {choices[label] for label in labels}
    return {
        "labels": labels,
        "prediction": int(np.argmax(np.array(log_probabilities) / np.array(lengths))),
        "chance": len(labels) / len(choices),
        "twins": any(text in right_texts and index not in labels for index, text in enumerate(choices)),
    }


def _key(request: Any) -> tuple[str, ...]:
    """The texts of a request: a pair, or a whole text or prompt alone."""
    return tuple(part for part in request if isinstance(part, str))


def _cluster(document: Any) -> str | None:
    for name in PASSAGES:
        value = document.get(name) if isinstance(document, Mapping) else None
        if isinstance(value, str | int) and str(value):
            return content_hash(str(value).encode())
    return None
