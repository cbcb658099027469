"""What paired runs differ by on each task, item by item."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lft.analysis.estimates import detectable_difference, mcnemar_p, mean_over_items
from lft.analysis.items import Evaluation, evaluations, moment, why_not_comparable
from lft.analysis.pairs import pairs_table
from lft.analysis.task_metrics import Metric, groups_of, main_metrics, task_metrics
from lft.analysis.task_scores import AVERAGE, NORMAL_REACH, OWN_METRIC, RUN_COLUMNS, Row, identity_of
from lft.errors import RequestError

DIFFERENCE_COLUMNS = [
    *RUN_COLUMNS,
    *("baseline", "baseline_run_id", "task", "kind", "group", "metric", "items"),
    *("difference", "error", "low", "high", "mcnemar_p", "detectable", "share", "problem"),
]


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
        where runs cannot be compared. Where no item differs there is no interval. The average over the
        tasks' own accuracies comes last.

    Raises:
        RequestError: No run is there, none is of the baseline, or a file is damaged.
    """
    found = evaluations(location, tasks, every_checkpoint)
    pairs, rows = _pairs(found, location, baseline)
    for arm, other in pairs:
        compared = [
            _compare(evaluation, [one for one in found if one.run is other.run])
            for evaluation in found
            if evaluation.run is arm.run
        ]
        rows += [row for task in compared for row in task]
        rows += _averages([task[0] for task in compared if task])
    return pd.DataFrame(rows, columns=DIFFERENCE_COLUMNS)


def _pairs(
    found: Sequence[Evaluation], location: str | Path, baseline: str
) -> tuple[list[tuple[Evaluation, Evaluation]], list[Row]]:
    """One evaluation each of runs that are compared, the baseline's second; rows on runs without partner."""
    by_run = {evaluation.run.folder.name: evaluation for evaluation in found}
    if len(by_run) < 2:
        return [], []
    routings = sorted({evaluation.run.routing for evaluation in found})
    if len(by_run) == 2 and baseline in ("standard", *routings):
        other, arm = sorted(by_run.values(), key=lambda evaluation: evaluation.run.routing != baseline)
        return [(arm, other)], []
    if baseline not in routings:
        present = ", ".join(routings)
        raise RequestError(
            f"no run of the baseline '{baseline}' was evaluated; the routings there: {present}"
        )
    pairs, alone = [], []
    for row in pairs_table(location, baseline).to_dict("records"):
        first, second = by_run.get(row["run_id"]), by_run.get(row["baseline_run_id"])
        if first and second:
            pairs.append((first, second))
        elif first:
            reason = row["problem"] or f"{row['baseline_run_id']} was not evaluated"
            unpaired = {"task": "", "kind": "", "baseline": baseline, "problem": reason}
            alone.append({**identity_of(first), **unpaired})
    return pairs, alone


def _compare(arm: Evaluation, others: Sequence[Evaluation]) -> list[Row]:
    """An evaluation beside the baseline's of the same task at the same moment of training."""
    of_task = [other for other in others if other.task == arm.task]
    if not of_task:
        return []
    at_once = [other for other in of_task if moment(other) == moment(arm)]
    other = at_once[0] if at_once else of_task[-1]
    head = {
        **identity_of(arm),
        "baseline": other.run.routing,
        "baseline_run_id": other.run.folder.name,
        "kind": "",
        "group": "",
        "problem": "",
    }
    if problem := why_not_comparable(arm, other):
        return [{**head, "problem": problem}]
    return _differences(arm, other, head)


def _differences(arm: Evaluation, other: Evaluation, head: Row) -> list[Row]:
    rows = []
    for (kind, group), items in groups_of(arm.items).items():
        mine, theirs = task_metrics(items), task_metrics(other.items.loc[items.index])
        shown = mine if not kind else main_metrics(mine)
        for metric, counterpart in zip(mine, theirs, strict=True):
            if metric in shown:
                rows.append({**head, "kind": kind, "group": group, **_difference(metric, counterpart, items)})
    return rows


def _difference(mine: Metric, theirs: Metric, items: pd.DataFrame) -> Row:
    estimate = mean_over_items(mine.values - theirs.values, mine.weights, items["cluster"])
    share = mine.is_share and theirs.is_share
    counted = share and np.ptp(mine.weights) == 0
    return {
        "metric": mine.difference_name,
        "items": len(items),
        "difference": estimate.mean,
        "error": estimate.error,
        "low": estimate.low if estimate.error else math.nan,
        "high": estimate.high if estimate.error else math.nan,
        "mcnemar_p": mcnemar_p(mine.values == 1, theirs.values == 1) if counted else math.nan,
        "detectable": detectable_difference(estimate.error) if estimate.error else math.nan,
        "share": share,
        "is_accuracy": bool(items["right"].notna().all()),
    }


def _averages(rows: Sequence[Row]) -> list[Row]:
    """The mean of the tasks' own accuracy differences, each task counting once; for each checkpoint."""
    averages = []
    usable = [row for row in rows if not row["problem"] and row["is_accuracy"]]
    for tokens in dict.fromkeys(row["tokens"] for row in usable):
        here = [row for row in usable if row["tokens"] == tokens]
        difference = float(np.mean([row["difference"] for row in here]))
        error = float(np.sqrt(np.sum([row["error"] ** 2 for row in here]))) / len(here)
        reach = NORMAL_REACH * error if error else math.nan
        averages.append(
            {
                **here[0],
                "task": AVERAGE,
                "metric": OWN_METRIC,
                "items": sum(row["items"] for row in here),
                "difference": difference,
                "error": error,
                "low": difference - reach,
                "high": difference + reach,
                "mcnemar_p": math.nan,
                "detectable": detectable_difference(error) if error else math.nan,
            }
        )
    return averages
