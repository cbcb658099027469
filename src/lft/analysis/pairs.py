"""Paired differences: runs that are equal in everything but the routing."""

import math
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pandas as pd

from lft.analysis.intervals import t_interval
from lft.analysis.records import RunRecord, read_records, refuse_repeats, setting_labels
from lft.errors import RequestError
from lft.runs import as_text, varying_keys

PAIR_COLUMNS = [
    "routing",
    "baseline",
    "scale",
    "budget_tokens",
    "settings",
    "seed",
    "run_id",
    "baseline_run_id",
    "value",
    "baseline_value",
    "difference",
    "problem",
    "remark",
]
DIFFERENCE_COLUMNS = [
    "routing",
    "baseline",
    "scale",
    "budget_tokens",
    "settings",
    "pairs",
    "difference",
    "standard_deviation",
    "low",
    "high",
    "note",
]
ONE_SEED = "one seed: no interval"
CONDITION_COLUMNS = ["scale", "budget_tokens", "settings"]
ARM_COLUMNS = ["routing", *CONDITION_COLUMNS]
GROUP_COLUMNS = ["routing", "baseline", *CONDITION_COLUMNS]


def paired_differences(location: str | Path, baseline: str = "standard") -> pd.DataFrame:
    """Mean difference in final validation loss, arm minus baseline, over the seeds of each condition.

    Two runs are a pair when both are done and everything that can change the result, seed included,
    is equal but the routing; runs of other conditions are never pooled.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        baseline: The routing to subtract, as `runs_table` names it.

    Returns:
        One row for each routing, scale, budget and `settings` (what else differs between rows): `pairs`,
        mean `difference` in nats per token, `standard_deviation` over seeds, the 95 % t interval from `low`
        to `high` (NaN below two pairs), and a `note` on the interval and on runs that found no partner.

    Raises:
        RequestError: No run, or no run of the baseline, is there.
    """
    return summarize_pairs(pairs_table(location, baseline))


def summarize_pairs(pairs: pd.DataFrame) -> pd.DataFrame:
    """The same from pairs already read, rows of `pairs_table`."""
    rows = [
        {**dict(zip(GROUP_COLUMNS, key, strict=True)), **_summarize(group)}
        for key, group in pairs.groupby(GROUP_COLUMNS, sort=False)
        if isinstance(key, tuple)
    ]
    return pd.DataFrame(rows, columns=DIFFERENCE_COLUMNS)


def pairs_table(location: str | Path, baseline: str = "standard", metric: str = "val_loss") -> pd.DataFrame:
    """One row a run of the other routings, with its partner, the difference, or the `problem` in the way.

    A `remark` names the commit, torch version and device where the two runs of a pair were made otherwise.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        baseline: The routing to subtract, as `runs_table` names it.
        metric: A number of `summary.json`; its values are `value` and `baseline_value`.

    Raises:
        RequestError: No run, or no run of the baseline, is there.
    """
    records = read_records(location)
    refuse_repeats(records)
    baselines = [record for record in records if record.routing == baseline]
    if not baselines:
        present = ", ".join(sorted({record.routing for record in records}))
        raise RequestError(
            f"no run of the baseline '{baseline}' in {location}; the routings there: {present}"
        )
    settings = setting_labels(records)
    rows = []
    for record, setting in zip(records, settings, strict=True):
        if record.routing != baseline:
            rows.append({"settings": setting, **_pair_row(record, baselines, metric)})
    return pd.DataFrame(rows, columns=PAIR_COLUMNS)


def _pair_row(arm: RunRecord, baselines: list[RunRecord], metric: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "routing": arm.routing,
        "baseline": baselines[0].routing,
        "scale": arm.scale,
        "budget_tokens": arm.budget_tokens,
        "seed": arm.seed,
        "run_id": arm.folder.name,
        "value": arm.number(metric),
        "difference": math.nan,
        "problem": "",
        "remark": "",
    }
    candidates = [
        (varying_keys([arm.conditions, other.conditions]), other)
        for other in baselines
        if _address(other) == _address(arm)
    ]
    if not arm.is_done:
        return {**row, "problem": f"unfinished ({arm.folder.state})"}
    if arm.conditions["run.json data.fingerprint"] is None:
        return {**row, "problem": "its run.json names no data"}
    if not candidates:
        return {**row, "problem": f"no {row['baseline']} run of this scale, budget and seed"}
    differing, partner = min(candidates, key=lambda candidate: len(candidate[0]))
    if differing:
        values = ", ".join(f"{key} ({_versus(key, arm, partner)})" for key in differing)
        return {**row, "problem": f"differs from {row['baseline']} in {values}"}
    if not partner.is_done:
        return {**row, "problem": f"{row['baseline']} unfinished ({partner.folder.state})"}
    baseline_value = partner.number(metric)
    if not math.isfinite(row["value"] - baseline_value):
        return {**row, "problem": f"{metric} is not a number, or not recorded"}
    return {
        **row,
        "baseline_run_id": partner.folder.name,
        "baseline_value": baseline_value,
        "difference": row["value"] - baseline_value,
        "remark": _remark(arm, partner),
    }


def _remark(arm: RunRecord, partner: RunRecord) -> str:
    """What else two runs do not share, though they make a pair."""
    mine, theirs = arm.circumstances, partner.circumstances
    return ", ".join(
        f"{key} {str(mine[key])[:12]}, not {str(theirs[key])[:12]}"
        for key in mine
        if mine[key] != theirs[key]
    )


def _summarize(group: pd.DataFrame) -> dict[str, Any]:
    paired = group[group["problem"] == ""]
    differences = [float(value) for value in paired["difference"]]
    several = len(differences) >= 2
    low, high = t_interval(differences) if several else (math.nan, math.nan)
    notes = [ONE_SEED] if len(differences) == 1 else []
    for problem, rows in group[group["problem"] != ""].groupby("problem", sort=False):
        seeds = ", ".join(str(seed) for seed in rows["seed"])
        notes.append(f"seed {seeds} not paired: {problem}")
    for remark, rows in paired[paired["remark"] != ""].groupby("remark", sort=False):
        notes.append(f"seed {', '.join(str(seed) for seed in rows['seed'])} paired across {remark}")
    return {
        "pairs": len(differences),
        "difference": mean(differences) if differences else math.nan,
        "standard_deviation": stdev(differences) if several else math.nan,
        "low": low,
        "high": high,
        "note": "; ".join(notes),
    }


def _address(record: RunRecord) -> tuple[str, int, int]:
    return record.scale, record.budget_tokens, record.seed


def _versus(key: str, arm: RunRecord, partner: RunRecord) -> str:
    return f"{as_text(arm.conditions.get(key))}, not {as_text(partner.conditions.get(key))}"
