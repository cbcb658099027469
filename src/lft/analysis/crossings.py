"""Where the curves of two arms cross, with an interval over seeds."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lft.analysis.intervals import t_quantile
from lft.analysis.pairs import GROUP_COLUMNS
from lft.errors import RequestError

# Points between the first and the last common one at which the difference is looked at.
GRID = 2000
CROSSING_COLUMNS = [
    "routing",
    "baseline",
    "scale",
    "budget_tokens",
    "settings",
    "pairs",
    "crossing",
    "low",
    "high",
    "note",
]


@dataclass(frozen=True)
class Crossing:
    """Where a mean difference changes its sign.

    Attributes:
        at: The last change from one sign to the other; NaN where there is none.
        low: Lower end of the 95 % interval; minus infinity where it may lie before the first point.
        high: Upper end; infinity where it may lie behind the last point.
        note: Why there is no crossing or no interval, or that there are several.
    """

    at: float
    low: float
    high: float
    note: str = ""


def crossing_point(x: np.ndarray, differences: np.ndarray) -> Crossing:
    """The crossing of two arms and what the seeds say of its place.

    The interval spans all places at which a t test over the seeds does not tell the difference from zero, as
    far as they hang together with a change of sign (Fieller's argument, place by place): at the true
    crossing the test errs in 5 %. Curves that are equal and then part do not cross. Between points the
    differences are interpolated along log x.

    Args:
        x: Places that all curves share, ascending and above zero.
        differences: `[pair, place]`, arm minus baseline.
    """
    grid = np.geomspace(x[0], x[-1], GRID)
    fine = np.array([np.interp(np.log(grid), np.log(x), row) for row in differences])
    centre = fine.mean(axis=0)
    signed = np.flatnonzero(centre)
    changes = np.flatnonzero(np.diff(np.sign(centre[signed])) != 0)
    if not len(changes):
        return Crossing(math.nan, math.nan, math.nan, "the mean difference keeps its sign")
    # Between the two places around the last change; what lies there is zero.
    before, after = int(signed[changes[-1]]), int(signed[changes[-1] + 1])
    share = centre[before] / (centre[before] - centre[after])
    at = float(grid[before] * (grid[after] / grid[before]) ** share)
    note = f"the mean difference changes its sign {len(changes)} times" if len(changes) > 1 else ""
    if len(differences) < 2:
        return Crossing(at, math.nan, math.nan, "; ".join(filter(None, ["one seed: no interval", note])))
    error = fine.std(axis=0, ddof=1) / math.sqrt(len(fine))
    unclear = np.abs(centre) <= t_quantile(len(fine) - 1) * error
    first, end = int(signed[changes[0]]), after
    while first > 0 and unclear[first - 1]:
        first -= 1
    while end < GRID - 1 and unclear[end + 1]:
        end += 1
    low = -math.inf if first == 0 and unclear[0] else float(grid[first])
    high = math.inf if end == GRID - 1 and unclear[-1] else float(grid[end])
    return Crossing(at, low, high, note)


def crossings_table(curves: pd.DataFrame, pairs: pd.DataFrame, x: str = "train/tokens") -> pd.DataFrame:
    """Where each arm's validation curve crosses its baseline's.

    Args:
        curves: Rows from `curves_table`.
        pairs: Rows from `pairs_table`.
        x: Column along which they cross: `train/tokens`, `train/flops` or `perf/seconds`.

    Returns:
        One row an arm, scale and budget: `crossing` with its interval from `low` to `high` (infinite where
        the curves do not say on which side of their range it ends), and a `note` where there is none.

    Raises:
        RequestError: The curves have no such column.
    """
    if x not in curves:
        raise RequestError(f"curves have no column '{x}'")
    validated = curves.dropna(subset=["val/loss", x])
    validated = validated[np.isfinite(validated["val/loss"])]
    by_run = {str(name): rows for name, rows in validated.groupby("run_id")}
    rows: list[dict[str, Any]] = []
    for key, group in pairs[pairs["problem"] == ""].groupby(GROUP_COLUMNS, sort=False):
        drawn = [
            (by_run[row["run_id"]], by_run[row["baseline_run_id"]])
            for row in group.to_dict("records")
            if row["run_id"] in by_run and row["baseline_run_id"] in by_run
        ]
        assert isinstance(key, tuple)
        found = _crossing(drawn, x)
        head = dict(zip(GROUP_COLUMNS, key, strict=True))
        ends = {"crossing": found.at, "low": found.low, "high": found.high, "note": found.note}
        rows.append({**head, "pairs": len(drawn), **ends})
    return pd.DataFrame(rows, columns=CROSSING_COLUMNS)


def _crossing(pairs: list[tuple[pd.DataFrame, pd.DataFrame]], x: str) -> Crossing:
    none = Crossing(math.nan, math.nan, math.nan, "the curves share no two places")
    if not pairs:
        return none
    ends = [(max(a[x].min(), b[x].min()), min(a[x].max(), b[x].max())) for a, b in pairs]
    first, last = max(low for low, _ in ends), min(high for _, high in ends)
    places = np.array(sorted({float(value) for a, b in pairs for value in (*a[x], *b[x])}))
    places = places[(places >= first) & (places <= last) & (places > 0)]
    if len(places) < 2:
        return none
    differences = np.array([_at(arm, x, places) - _at(other, x, places) for arm, other in pairs])
    return crossing_point(places, differences)


def _at(rows: pd.DataFrame, x: str, places: np.ndarray) -> np.ndarray:
    ordered = rows[rows[x] > 0].sort_values(x)
    return np.interp(np.log(places), np.log(ordered[x]), ordered["val/loss"])
