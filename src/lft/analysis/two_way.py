"""Differences that are uncertain twice: by the seeds that were trained, and by the items that were asked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lft.analysis.intervals import t_quantile
from lft.analysis.items import Evaluation, evaluations, why_not_comparable
from lft.analysis.pairs import CONDITION_COLUMNS, pairs_table
from lft.analysis.task_metrics import task_metrics

BOOTSTRAP_DRAWS = 2000
TWO_WAY_COLUMNS = [
    "routing",
    "baseline",
    *CONDITION_COLUMNS,
    "task",
    "metric",
    "pairs",
    "items",
    "difference",
]
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


def two_way(differences: np.ndarray, weights: np.ndarray) -> TwoWay:
    """The uncertainty of a mean over seeds and items.

    The variance over seeds is that of their means, the variance over items is bootstrapped from the items'
    means over seeds; their sum has Satterthwaite's degrees of freedom (1946, Biometrics Bulletin 2, 110).
    What seed and item do together is in both, which errs on the safe side.

    Args:
        differences: `[seed, item]`.
        weights: How much each item counts.
    """
    from scipy.stats import bootstrap

    seeds, items = differences.shape
    of_seeds = np.average(differences, axis=1, weights=weights)
    centre = float(of_seeds.mean())
    of_items = differences.mean(axis=0)
    drawn = bootstrap(
        (of_items, weights),
        lambda values, counts, axis: (values * counts).sum(axis=axis) / counts.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=BOOTSTRAP_DRAWS,
        method="percentile",
        rng=0,
    )
    item_variance = float(drawn.standard_error) ** 2
    if seeds < 2:
        return TwoWay(centre, math.nan, math.sqrt(item_variance), math.nan, math.nan)
    seed_variance = float(of_seeds.var(ddof=1)) / seeds
    total = seed_variance + item_variance
    if total == 0:
        return TwoWay(centre, 0.0, 0.0, centre, centre)
    freedom = total**2 / (seed_variance**2 / (seeds - 1) + item_variance**2 / (items - 1))
    reach = t_quantile(freedom) * math.sqrt(total)
    return TwoWay(centre, math.sqrt(seed_variance), math.sqrt(item_variance), centre - reach, centre + reach)


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
        items, and the 95 % interval of both together.

    Raises:
        RequestError: No run, or none of the baseline, is there.
    """
    found = {(one.run.folder.name, one.task): one for one in evaluations(location, tasks)}
    pairs = pairs_table(location, baseline)
    rows: list[dict[str, Any]] = []
    for key, group in pairs[pairs["problem"] == ""].groupby(
        ["routing", "baseline", *CONDITION_COLUMNS], sort=False
    ):
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


def _task_rows(asked: Sequence[tuple[Evaluation, Evaluation]]) -> list[dict[str, Any]]:
    if not asked:
        return []
    first = asked[0][0]
    alike = [pair for pair in asked if not any(why_not_comparable(first, one) for one in pair)]
    left_out = len(asked) - len(alike)
    rows = []
    for place, metric in enumerate(task_metrics(first.items)):
        values = np.array(
            [
                task_metrics(arm.items)[place].values - task_metrics(other.items)[place].values
                for arm, other in alike
            ]
        )
        result = two_way(values, metric.weights)
        notes = ["one seed: no interval"] if len(alike) == 1 else []
        notes += [f"{left_out} pairs were asked otherwise"] if left_out else []
        rows.append(
            {
                "metric": metric.difference_name,
                "pairs": len(alike),
                "items": len(first.items),
                "difference": result.mean,
                "seed_error": result.seed_error,
                "item_error": result.item_error,
                "low": result.low,
                "high": result.high,
                "note": "; ".join(notes),
            }
        )
    return rows
