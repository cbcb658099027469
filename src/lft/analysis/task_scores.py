"""What each run scored, task by task, with intervals."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lft.analysis.elo import elo_rating
from lft.analysis.estimates import mean_over_items
from lft.analysis.items import Evaluation, evaluations
from lft.analysis.task_metrics import Metric, groups_of, main_metrics, task_metrics

RUN_COLUMNS = ["run_id", "routing", "scale", "budget_tokens", "seed", "tokens"]
SCORE_COLUMNS = ["kind", "group", "metric", "items", "value", "low", "high", "error", "chance", "share"]
AVERAGE, OWN_METRIC = "average", "own"
# Of the normal distribution, 95 % lie within so many standard deviations.
NORMAL_REACH = 1.959964
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
        error chance share`: `kind` is `category` or `difficulty`, or empty for a whole task; the 95 %
        interval is from `low` to `high`, `error` the standard error of the mean (of a perplexity in nats),
        `share` whether values are shares. What lm-eval aggregates in its own way has no interval.
        The average is over the tasks, each counting once by its own metric, the first of its rows.

    Raises:
        RequestError: No run is there, or a file is damaged.
    """
    rows: list[Row] = []
    averages: dict[tuple[Any, ...], list[Row]] = {}
    for evaluation in evaluations(location, tasks, every_checkpoint):
        scores = _scores(evaluation)
        rows += scores
        if evaluation.items["right"].notna().all():
            run = tuple(scores[0][name] for name in RUN_COLUMNS)
            averages.setdefault(run, []).append(scores[0])
    rows += [_average(dict(zip(RUN_COLUMNS, run, strict=True)), scores) for run, scores in averages.items()]
    return pd.DataFrame(rows, columns=[*RUN_COLUMNS, "task", *SCORE_COLUMNS])


def identity_of(evaluation: Evaluation) -> Row:
    """The columns that say which run and task a row is of."""
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


def _scores(evaluation: Evaluation) -> list[Row]:
    head = {**identity_of(evaluation), "kind": "", "group": ""}
    rows = []
    for (kind, group), items in groups_of(evaluation.items).items():
        metrics = task_metrics(items)
        for metric in metrics if not kind else main_metrics(metrics):
            rows.append({**head, "kind": kind, "group": group, **_score(metric, items)})
    if evaluation.items["item_elo"].notna().any():
        rows.append({**head, **_elo(evaluation.items)})
    known = {row["metric"] for row in rows}
    others = _aggregates(evaluation).items()
    return rows + [
        {**head, "metric": name, "items": len(evaluation.items), "value": value, "share": False}
        for name, value in others
        if name not in known
    ]


def _score(metric: Metric, items: pd.DataFrame) -> Row:
    estimate = mean_over_items(metric.values, metric.weights, items["cluster"], metric.is_share)
    low, high = estimate.low, estimate.high
    if metric.is_share:
        # Few passages may send Student's interval beyond what a share can be.
        low, high = max(0.0, low), min(1.0, high)
    return {
        "metric": metric.name,
        "items": len(items),
        "value": metric.display(estimate.mean),
        "low": metric.display(low),
        "high": metric.display(high),
        "error": estimate.error,
        "chance": float(items["chance"].fillna(0.0).mean()) if metric.is_share else math.nan,
        "share": metric.is_share,
    }


def _elo(items: pd.DataFrame) -> Row:
    columns = (items[name].to_numpy(dtype=float) for name in ("weight", "item_elo", "right"))
    return {"metric": "elo", "items": len(items), "value": elo_rating(*columns), "share": False}


def _aggregates(evaluation: Evaluation) -> dict[str, float]:
    """What lm-eval made of all items of a task, such as a correlation; groups have none of their own."""
    results = evaluation.provenance.get("results", {}).get(evaluation.task, {})
    return {
        name.removesuffix(",none"): float(value)
        for name, value in results.items()
        if "," in name and "stderr" not in name and isinstance(value, int | float)
    }


def _average(run: Row, scores: Sequence[Row]) -> Row:
    # From the intervals, since Wilson's is one where all answers are right.
    errors = np.array([(score["high"] - score["low"]) / (2 * NORMAL_REACH) for score in scores])
    error = float(np.sqrt((errors**2).sum()) / len(scores))
    value = float(np.mean([score["value"] for score in scores]))
    return {
        **run,
        "task": AVERAGE,
        "kind": "",
        "group": "",
        "metric": OWN_METRIC,
        "items": sum(score["items"] for score in scores),
        "value": value,
        "low": max(0.0, value - NORMAL_REACH * error),
        "high": min(1.0, value + NORMAL_REACH * error),
        "error": error,
        "chance": float(np.mean([score["chance"] for score in scores])),
        "share": True,
    }
