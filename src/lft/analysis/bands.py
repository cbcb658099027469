"""Curves averaged over seeds, with a band that says how far the seeds agree."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from lft.analysis.intervals import t_interval
from lft.analysis.names import line_names
from lft.analysis.pairs import ARM_COLUMNS
from lft.analysis.records import routing_order

BAND_COLUMNS = [*ARM_COLUMNS, "run", "step", "x", "seeds", "mean", "low", "high"]


def seed_bands(curves: pd.DataFrame, x: str = "train/tokens", metric: str = "val/loss") -> pd.DataFrame:
    """The mean of a metric over the seeds of each arm, step by step.

    Only finished runs are averaged, and only where all of an arm's were measured at the same steps, so that
    a mean never changes its seeds along a curve. Otherwise, and where no run of an arm is finished, each of
    its runs has its own rows.

    Args:
        curves: Rows from `curves_table`.
        x: Column along which it is drawn; where seeds differ in it, as in seconds or joules, their mean.
        metric: What is averaged.

    Returns:
        One row a logged step of an arm, scale, budget and settings: `x`, `seeds`, `mean`, and the 95 % t
        interval of the mean from `low` to `high` (NaN for one seed). `run` is empty, or names the one run
        that the row is of.
    """
    logged = curves.reindex(columns=list(dict.fromkeys([*curves, x, metric]))).dropna(subset=[metric, x])
    logged = logged[np.isfinite(logged[metric].astype(float))]
    rows: list[dict[str, Any]] = []
    for key, group in logged.groupby(ARM_COLUMNS, sort=False):
        assert isinstance(key, tuple)
        head = dict(zip(ARM_COLUMNS, key, strict=True))
        for run, lines in _lines(group):
            rows += [{**head, "run": run, **point} for point in _points(lines, x, metric)]
    table = pd.DataFrame(rows, columns=BAND_COLUMNS)
    return table.sort_values(
        ["scale", "budget_tokens", "settings", "routing", "run", "x"], kind="stable", ignore_index=True
    )


def _lines(arm: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """What is drawn of an arm: one mean, or its runs one by one, each with its name."""
    done = arm[arm["state"] == "done"]
    if len(done) and (done.groupby("step")["run_id"].nunique() == done["run_id"].nunique()).all():
        yield "", done
        return
    for _, run in (done if len(done) else arm).groupby("run_id", sort=False):
        yield f"seed {run['seed'].iloc[0]}{_how_far(run['state'].iloc[0])}", run


def _points(lines: pd.DataFrame, x: str, metric: str) -> Iterator[dict[str, Any]]:
    for step, group in lines.groupby("step", sort=False):
        values = [float(value) for value in group[metric]]
        low, high = t_interval(values) if len(values) > 1 else (float("nan"), float("nan"))
        middle = {"x": float(group[x].mean()), "seeds": len(values), "mean": sum(values) / len(values)}
        yield {"step": step, **middle, "low": low, "high": high}


def _how_far(state: str) -> str:
    return {"done": "", "failed": ", failed"}.get(state, ", unfinished")


def arms_of(bands: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of each line, by its routing and what else tells the lines apart; the standard routing first.

    Args:
        bands: Rows from `seed_bands` that one chart shows.
    """
    lines = [rows for _, rows in bands.groupby([*ARM_COLUMNS, "run"], sort=False)]
    if not lines:
        return {}
    named = zip(line_names(lines), lines, strict=True)
    return dict(sorted(named, key=lambda item: routing_order(item[1]["routing"].iloc[0])))


def runs_left_out(runs: pd.DataFrame) -> list[str]:
    """In words, which runs are in no mean, for being unfinished or without a loss.

    Args:
        runs: Rows from `runs_table`.
    """
    left_out: list[str] = []
    alone: list[str] = []
    for _, arm in runs.groupby(ARM_COLUMNS, sort=False):
        rest = arm[arm["state"] != "done"]
        names = [f"{row['run_id']}{_how_far(row['state'])}" for row in rest.to_dict("records")]
        if len(rest) < len(arm):
            left_out += names
        else:
            alone += names
    lost = runs[(runs["state"] == "done") & ~np.isfinite(runs["val_loss"].astype(float))]
    words = [f"Without a finite loss at the end: {'; '.join(lost['run_id'])}."] if len(lost) else []
    if left_out:
        words.append(f"Left out, because means are over finished runs: {'; '.join(left_out)}.")
    if alone:
        words.append(
            "No run of these arms is finished; what they have logged is drawn run by run, in thin lines: "
            f"{'; '.join(alone)}."
        )
    return words
