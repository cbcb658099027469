"""Curves averaged over seeds, with a band that says how far the seeds agree."""

from typing import Any

import pandas as pd

from lft.analysis.intervals import t_interval
from lft.terminal import short

ARM_COLUMNS = ["routing", "scale", "budget_tokens", "settings"]
BAND_COLUMNS = [*ARM_COLUMNS, "step", "x", "seeds", "mean", "low", "high"]


def seed_bands(curves: pd.DataFrame, x: str = "train/tokens", metric: str = "val/loss") -> pd.DataFrame:
    """The mean of a metric over the seeds of each arm, step by step.

    Args:
        curves: Rows from `curves_table`.
        x: Column along which it is drawn; where seeds differ in it, as in seconds, their mean.
        metric: What is averaged.

    Returns:
        One row a logged step of an arm, scale, budget and settings: `x`, `seeds`, `mean`, and the 95 % t
        interval of the mean from `low` to `high` (NaN for one seed).
    """
    rows: list[dict[str, Any]] = []
    logged = curves.dropna(subset=[metric, x])
    for key, group in logged.groupby([*ARM_COLUMNS, "step"], sort=False):
        assert isinstance(key, tuple)
        values = [float(value) for value in group[metric]]
        low, high = t_interval(values) if len(values) > 1 else (float("nan"), float("nan"))
        head = dict(zip([*ARM_COLUMNS, "step"], key, strict=True))
        middle = {"x": float(group[x].mean()), "seeds": len(values), "mean": sum(values) / len(values)}
        rows.append({**head, **middle, "low": low, "high": high})
    table = pd.DataFrame(rows, columns=BAND_COLUMNS)
    return table.sort_values(
        ["scale", "budget_tokens", "settings", "routing", "x"], kind="stable", ignore_index=True
    )


def arms_of(bands: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of each arm, by its routing and what else tells the arms apart.

    Args:
        bands: Rows from `seed_bands` that one chart shows.
    """
    several = bands["budget_tokens"].nunique() > 1
    arms: dict[str, pd.DataFrame] = {}
    arm: Any
    for arm, rows in bands.groupby(ARM_COLUMNS, sort=False):
        routing, _, budget, settings = arm
        words = [routing, f"{short(budget)} tokens" if several else "", settings]
        arms[" ".join(filter(None, words))] = rows
    return arms
