"""Evaluations of synthetic runs."""

from analysis.synthetic import make_run

from lft.runs import write_evaluation


def choice_item(number, right, **columns):
    """An item with two choices of which the first is right."""
    return {
        "subtask": "piqa",
        "output_type": "multiple_choice",
        "item": number,
        "content": f"{number:016x}",
        "category": None,
        "difficulty": None,
        "cluster": None,
        "log_probabilities": [-1.0, -2.0] if right else [-2.0, -1.0],
        "tokens": [1, 1],
        "bytes": [4, 4],
        "characters": [4, 4],
        "labels": [0],
        "prediction": 0 if right else 1,
        "right": right,
        "chance": 0.5,
        "weight": 1.0,
        "truncated_tokens": 0,
        "metrics": {"acc": float(bool(right))},
        **columns,
    }


def text_item(number, nats, tokens, num_bytes, **columns):
    """A document that was scored whole."""
    return {
        "subtask": "bits_per_byte",
        "output_type": "loglikelihood_rolling",
        "item": number,
        "content": f"{number:016x}",
        "cluster": f"{number:016x}",
        "log_probabilities": [-nats],
        "tokens": [tokens],
        "bytes": [num_bytes],
        "characters": [num_bytes],
        "weight": 1.0,
        "truncated_tokens": 0,
        **columns,
    }


def add_evaluation(folder, task, items, tokens=100_000, **identity):
    """Write a task's items into a run folder."""
    provenance = {"identity": {"task": task, "precision": "fp32", "limit": 0, **identity}}
    provenance["identity"]["checkpoint_sha256"] = folder.name
    write_evaluation(folder.evaluations / f"{task}.parquet", tokens, items, provenance)


def make_pair(runs, seed=0):
    """A standard and an LFT run."""
    return [make_run(runs, routing, seed, 5.0) for routing in ("standard", "lft")]
