"""Tasks as tables: what each run scored, and what two runs differ by, paired over items."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lft.analysis.elo import elo_rating
from lft.analysis.estimates import detectable_difference, mcnemar_p, mean_over_items
from lft.analysis.items import IDENTITY, Evaluation, evaluations
from lft.analysis.pairs import pairs_table
from lft.analysis.task_metrics import Metric, groups_of, main_metrics, task_metrics
from lft.errors import RequestError
from lft.runs import as_text

RUN_COLUMNS = ["run_id", "routing", "scale", "budget_tokens", "seed", "tokens"]
SCORE_COLUMNS = ["kind", "group", "metric", "items", "value", "low", "high", "error", "chance"]
AVERAGE, OWN_METRIC = "average", "own"
Row = dict[str, Any]


def scores_table(
    location: str | Path, tasks: Sequence[str] = (), every_checkpoint: bool = False
) -> pd.DataFrame:
    """What runs scored, task by task and category by category, the average of each run last.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        tasks: Which tasks; all that were asked when empty.
        every_checkpoint: Whether to take all checkpoints, not the last evaluated one of each task alone.

    Returns:
        Columns `run_id routing scale budget_tokens seed tokens task kind group metric items value low high
        error chance`: `kind` is `category` or `difficulty`, or empty for a whole task; the 95 % interval is
        from `low` to `high`, `error` the standard error of the mean before its `display` (a perplexity's is
        in nats). The average is over the tasks, each counting once by its own metric, the first of its rows.

    Raises:
        RequestError: No run is there, or a file is damaged.
    """
    rows: list[Row] = []
    averages: dict[tuple[Any, ...], list[Row]] = {}
    for evaluation in evaluations(location, tasks, every_checkpoint):
        scores = _scores(evaluation)
        rows += scores
        # Texts have no accuracy to average.
        if not math.isnan(scores[0]["accuracy"]):
            run = tuple(scores[0][name] for name in RUN_COLUMNS)
            averages.setdefault(run, []).append(scores[0])
    rows += [_average(dict(zip(RUN_COLUMNS, run, strict=True)), scores) for run, scores in averages.items()]
    return pd.DataFrame(rows, columns=[*RUN_COLUMNS, "task", *SCORE_COLUMNS])


def _scores(evaluation: Evaluation) -> list[Row]:
    head = _head(evaluation)
    rows = []
    for (kind, group), items in groups_of(evaluation.items).items():
        metrics = task_metrics(items)
        for metric in metrics if not kind else main_metrics(metrics):
            rows.append({**head, "kind": kind, "group": group, **_score(metric, items)})
        if not kind and items["item_elo"].notna().any():
            rows.append({**head, "kind": "", "group": "", **_elo(items)})
    return rows


def _score(metric: Metric, items: pd.DataFrame) -> Row:
    estimate = mean_over_items(metric.values, metric.weights, items["cluster"], metric.is_accuracy)
    ends = {"value": estimate.mean, "low": estimate.low, "high": estimate.high}
    return {
        "metric": metric.name,
        "items": len(items),
        **{name: metric.display(end) for name, end in ends.items()},
        "error": estimate.error,
        "accuracy": estimate.mean if metric.is_accuracy else math.nan,
        "chance": float(items["chance"].mean()) if metric.is_accuracy else math.nan,
    }


def _elo(items: pd.DataFrame) -> Row:
    columns = (items[name].to_numpy(dtype=float) for name in ("weight", "item_elo", "right"))
    return {"metric": "elo", "items": len(items), "value": elo_rating(*columns)}


def _address(evaluation: Evaluation) -> tuple[str, int | None]:
    """What two evaluations share to be compared: the task, and the checkpoint where several are asked."""
    return evaluation.task, evaluation.tokens


def _average_differences(rows: Sequence[Row]) -> list[Row]:
    """The mean of the tasks' own accuracy differences, each task counting once; for each checkpoint."""
    averages = []
    usable = [row for row in rows if not row["problem"] and row["is_accuracy"]]
    for tokens in dict.fromkeys(row["tokens"] for row in usable):
        here = [row for row in usable if row["tokens"] == tokens]
        difference = float(np.mean([row["difference"] for row in here]))
        error = float(np.sqrt(np.sum([row["error"] ** 2 for row in here]))) / len(here)
        averages.append(
            {
                **here[0],
                "task": AVERAGE,
                "metric": OWN_METRIC,
                "items": sum(row["items"] for row in here),
                "difference": difference,
                "error": error,
                "low": difference - 1.96 * error,
                "high": difference + 1.96 * error,
                "mcnemar_p": math.nan,
                "detectable": detectable_difference(error),
            }
        )
    return averages


def _average(run: Row, scores: Sequence[Row]) -> Row:
    values, errors, chances = (
        np.array([score[name] for score in scores]) for name in ("value", "error", "chance")
    )
    error = float(np.sqrt((errors**2).sum()) / len(scores))
    value, reach = float(values.mean()), 1.96 * error
    return {
        **run,
        "task": AVERAGE,
        "kind": "",
        "group": "",
        "metric": OWN_METRIC,
        "items": sum(score["items"] for score in scores),
        "value": value,
        "low": value - reach,
        "high": value + reach,
        "error": error,
        "chance": float(chances.mean()),
    }


def task_differences(
    location: str | Path,
    tasks: Sequence[str] = (),
    baseline: str = "standard",
    every_checkpoint: bool = False,
) -> pd.DataFrame:
    """What paired runs differ by, item by item, for every task and category.

    Runs are pairs as `pairs_table` has them; two runs alone are compared whatever they are.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        tasks: Which tasks; all that were asked when empty.
        baseline: The routing to subtract.
        every_checkpoint: Whether to take all checkpoints that both were evaluated at, not the last alone.

    Returns:
        Columns of the first run as in `scores_table`, `baseline`, `baseline_run_id`, `task kind group
        metric items`, the `difference` (first minus baseline) with its standard `error` (clustered where
        items share a passage) and 95 % interval, `mcnemar_p` (exact, for unweighted accuracies),
        `detectable` (the true difference that so many items would show with 80 % power), and a `problem`
        where two evaluations cannot be compared. Where no item differs there is no interval. The average over
        the tasks' own accuracies comes last.

    Raises:
        RequestError: No run is there, none is of the baseline, or a file is damaged.
    """
    found = evaluations(location, tasks, every_checkpoint)
    rows: list[Row] = []
    for arm, other in _pairs(found, location, baseline):
        of_other = {_address(evaluation): evaluation for evaluation in found if evaluation.run is other.run}
        compared = [
            _differences(evaluation, of_other[_address(evaluation)])
            for evaluation in found
            if evaluation.run is arm.run and _address(evaluation) in of_other
        ]
        rows += [row for task in compared for row in task]
        rows += _average_differences([task[0] for task in compared])
    names = ["baseline", "baseline_run_id", "task", "kind", "group", "metric", "items", "difference"]
    names += ["error", "low", "high", "mcnemar_p", "detectable", "problem"]
    return pd.DataFrame(rows, columns=[*RUN_COLUMNS, *names])


def _pairs(
    found: Sequence[Evaluation], location: str | Path, baseline: str
) -> list[tuple[Evaluation, Evaluation]]:
    """One evaluation each of runs that are compared, the baseline's second."""
    by_run = {evaluation.run.folder.name: evaluation for evaluation in found}
    if len(by_run) < 2:
        return []
    routings = sorted({evaluation.run.routing for evaluation in found})
    if len(by_run) == 2 and baseline in ("standard", *routings):
        other, arm = sorted(by_run.values(), key=lambda evaluation: evaluation.run.routing != baseline)
        return [(arm, other)]
    if baseline not in routings:
        raise RequestError(
            f"no run of the baseline '{baseline}' was evaluated; there are {', '.join(routings)}"
        )
    pairs = pairs_table(location, baseline)
    return [
        (by_run[row["run_id"]], by_run[row["baseline_run_id"]])
        for row in pairs.to_dict("records")
        if row["run_id"] in by_run and row["baseline_run_id"] in by_run
    ]


def _differences(arm: Evaluation, other: Evaluation) -> list[Row]:
    head = {
        **_head(arm),
        "baseline": other.run.routing,
        "baseline_run_id": other.run.folder.name,
        "kind": "",
        "group": "",
        "problem": "",
    }
    differing = [key for key in arm.conditions if arm.conditions[key] != other.conditions.get(key)]
    if differing:
        values = ", ".join(
            f"{key} ({as_text(arm.conditions[key])}, not {as_text(other.conditions.get(key))})"
            for key in differing
        )
        return [{**head, "problem": f"asked with another {values}"}]
    if not arm.items[IDENTITY].equals(other.items[IDENTITY]):
        return [{**head, "problem": "the two were asked different items"}]
    rows = []
    for (kind, group), items in groups_of(arm.items).items():
        others = other.items.loc[items.index]
        mine, theirs = task_metrics(items), task_metrics(others)
        shown = mine if not kind else main_metrics(mine)
        for metric, counterpart in zip(mine, theirs, strict=True):
            if metric in shown:
                rows.append({**head, "kind": kind, "group": group, **_difference(metric, counterpart, items)})
    return rows


def _difference(mine: Metric, theirs: Metric, items: pd.DataFrame) -> Row:
    estimate = mean_over_items(mine.values - theirs.values, mine.weights, items["cluster"])
    counted = mine.is_accuracy and theirs.is_accuracy and np.ptp(mine.weights) == 0
    return {
        "metric": "nats" if mine.name == "perplexity" else mine.name,
        "is_accuracy": mine.is_accuracy and theirs.is_accuracy,
        "items": len(items),
        "difference": estimate.mean,
        "error": estimate.error,
        "low": estimate.low if estimate.error else math.nan,
        "high": estimate.high if estimate.error else math.nan,
        "mcnemar_p": mcnemar_p(mine.values == 1, theirs.values == 1) if counted else math.nan,
        "detectable": detectable_difference(estimate.error) if estimate.error else math.nan,
    }


def _head(evaluation: Evaluation) -> Row:
    run = evaluation.run
    return {
        "run_id": run.folder.name,
        "routing": run.routing,
        "scale": run.scale,
        "budget_tokens": run.budget_tokens,
        "seed": run.seed,
        "tokens": evaluation.tokens,
        "task": evaluation.task,
    }
