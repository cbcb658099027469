"""Differences that are uncertain twice: by the seeds that were trained, and by the items that were asked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from lft.analysis.intervals import t_quantile
from lft.analysis.items import Evaluation, evaluations, why_not_comparable
from lft.analysis.pairs import GROUP_COLUMNS, pairs_table
from lft.analysis.task_metrics import task_metrics

BOOTSTRAP_DRAWS = 2000
# Numbers that the bootstrap holds at once.
BATCH_VALUES = 1_000_000
Asked = tuple[Evaluation, Evaluation]
TWO_WAY_COLUMNS = [*GROUP_COLUMNS, "task", "metric", "pairs", "items", "difference"]
TWO_WAY_COLUMNS += ["seed_error", "item_error", "low", "high", "note"]


@dataclass(frozen=True)
class TwoWay:
    """A mean difference over seeds and items.

    Attributes:
        mean: Over both.
        seed_error: Standard error by the choice of seeds.
        item_error: Standard error by the choice of items.
        low: Lower end of the 95 % interval; NaN for one seed.
        high: Upper end.
    """

    mean: float
    seed_error: float
    item_error: float
    low: float
    high: float


def two_way(
    differences: Float[np.ndarray, "seeds items"],
    weights: Float[np.ndarray, " items"],
    passages: Int[np.ndarray, " items"] | None = None,
) -> TwoWay:
    """The uncertainty of a mean over seeds and items.

    The variance over seeds is that of their means; the variance over items is bootstrapped from the items'
    means over seeds, whole passages at a time. The reaches of both intervals add up as squares (Zou and
    Donner 2008, Statistics in Medicine 27, 1693). What seed and item do together is in both, which errs on
    the safe side.

    Args:
        differences: By seed and item.
        weights: How much each item counts.
        passages: The passage that each item is about, as numbers from 0; every item its own when not given.
    """
    seeds, items = differences.shape
    of_seeds = np.average(differences, axis=1, weights=weights)
    centre = float(of_seeds.mean())
    groups = np.arange(items) if passages is None else passages
    sums = np.bincount(groups, weights=differences.mean(axis=0) * weights)
    item_error = _bootstrapped_error(sums, np.bincount(groups, weights=weights))
    if seeds < 2:
        return TwoWay(centre, math.nan, item_error, math.nan, math.nan)
    seed_error = float(of_seeds.std(ddof=1)) / math.sqrt(seeds)
    item_reach = t_quantile(len(sums) - 1) * item_error if len(sums) > 1 else math.nan
    reach = math.hypot(t_quantile(seeds - 1) * seed_error, item_reach)
    return TwoWay(centre, seed_error, item_error, centre - reach, centre + reach)


def _bootstrapped_error(sums: np.ndarray, weights: np.ndarray) -> float:
    """Standard error of the sum of sums over the sum of weights, both drawn together; NaN for one alone."""
    from scipy.stats import bootstrap

    if len(sums) < 2:
        return math.nan
    if not (sums / weights - sums.sum() / weights.sum()).any():
        return 0.0
    drawn = bootstrap(
        (sums, weights),
        lambda values, counts, axis: values.sum(axis=axis) / counts.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=BOOTSTRAP_DRAWS,
        # Many draws of many items at once would take gigabytes.
        batch=max(1, BATCH_VALUES // len(sums)),
        method="percentile",
        rng=0,
    )
    return float(drawn.standard_error)


def differences_over_seeds(
    location: str | Path, tasks: Sequence[str] = (), baseline: str = "standard"
) -> pd.DataFrame:
    """Each arm's difference from the baseline on each task, over all seeds that were asked the same items.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        tasks: Which tasks; all that were asked when empty.
        baseline: The routing to subtract.

    Returns:
        One row an arm, condition, task and metric: the `difference` with its standard errors by seeds and by
        items, and the 95 % interval of both together; `note` says what was left out, and why there is no
        interval.

    Raises:
        RequestError: No run, or none of the baseline, is there.
    """
    found = {(one.run.folder.name, one.task): one for one in evaluations(location, tasks)}
    pairs = pairs_table(location, baseline)
    rows: list[dict[str, Any]] = []
    for key, group in pairs[pairs["problem"] == ""].groupby(GROUP_COLUMNS, sort=False):
        assert isinstance(key, tuple)
        head = dict(zip(TWO_WAY_COLUMNS, key, strict=False))
        for task in dict.fromkeys(task for _, task in found):
            asked = [
                (found[row["run_id"], task], found[row["baseline_run_id"], task])
                for row in group.to_dict("records")
                if (row["run_id"], task) in found and (row["baseline_run_id"], task) in found
            ]
            rows += [{**head, "task": task, **row} for row in _task_rows(asked)]
    return pd.DataFrame(rows, columns=TWO_WAY_COLUMNS)


def _task_rows(asked: Sequence[Asked]) -> list[dict[str, Any]]:
    reasons = [why_not_comparable(*pair) for pair in asked]
    able = [pair for pair, reason in zip(asked, reasons, strict=True) if not reason]
    notes = [
        f"{reasons.count(reason)} pairs left out: {reason}" for reason in dict.fromkeys(reasons) if reason
    ]
    alike = _largest_group(able)
    if not alike:
        return [{"pairs": 0, "note": "; ".join(notes)}] if notes else []
    if len(alike) < len(able):
        notes.append(f"{len(able) - len(alike)} pairs left out: asked otherwise than the rest")
    if len(alike) == 1:
        notes.insert(0, "one seed: no interval")
    first = alike[0][0].items
    passages = passages_of(first)
    if passages.max() == 0:
        notes.append("one item or passage: no interval")
    metrics = [(task_metrics(arm.items), task_metrics(other.items)) for arm, other in alike]
    rows = []
    for place, metric in enumerate(metrics[0][0]):
        values = np.array([mine[place].values - theirs[place].values for mine, theirs in metrics])
        result = two_way(values, metric.weights, passages)
        rows.append(
            {
                "metric": metric.difference_name,
                "pairs": len(alike),
                "items": len(first),
                "difference": result.mean,
                "seed_error": result.seed_error,
                "item_error": result.item_error,
                "low": result.low,
                "high": result.high,
                "note": "; ".join(notes),
            }
        )
    return rows


def passages_of(items: pd.DataFrame) -> Int[np.ndarray, " items"]:
    """The passage of each item as a number; an item without one is its own. Subtasks count from anew."""
    alone = items["cluster"].isna()
    names = items["cluster"].where(~alone, items["item"]).astype(str)
    return (
        items.assign(alone=alone, name=names)
        .groupby(["subtask", "alone", "name"], dropna=False)
        .ngroup()
        .to_numpy()
    )


def _largest_group(asked: Sequence[Asked]) -> list[Asked]:
    """The most pairs that were all asked the same; the first of equally many."""
    groups: list[list[Asked]] = []
    for pair in asked:
        for group in groups:
            if not why_not_comparable(group[0][0], pair[0]):
                group.append(pair)
                break
        else:
            groups.append([pair])
    return max(groups, key=len, default=[])
