"""Quality against what a model takes to keep and to run: which arms are on the frontier."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lft.analysis.pairs import ARM_COLUMNS
from lft.analysis.records import RunRecord, common_settings, read_object, read_records, refuse_repeats
from lft.errors import RequestError

# What one would like to have little of, and what it is called.
CONSTRAINTS = {
    "stored_bytes": "stored bytes (float32)",
    "forward_flops_per_token": "forward FLOPs per token",
    "kv_bytes_per_token": "cache bytes per token (bfloat16)",
    "train_flops": "training FLOPs",
    "seconds": "training seconds",
    "joules": "training energy (J)",
    "peak_memory_bytes": "peak training memory (bytes)",
}
# The same, measured with an exported model.
EXPORT_CONSTRAINTS = {
    "file_bytes": "file (bytes)",
    "resident_bytes": "resident memory (bytes)",
    "first_token_seconds": "time to the first token (s)",
    "seconds_per_token": "time for each further token (s)",
    "joules_per_token": "energy for each token (J)",
}


def deployment_table(location: str | Path) -> pd.DataFrame:
    """What each arm reaches and takes, averaged over its finished runs.

    Args:
        location: A folder of run folders, a glob, or a run folder.

    Returns:
        Columns `routing scale budget_tokens settings runs val_loss`, the costs, and for each cost
        `<cost>_frontier`: whether no other arm of the same settings has both a lower loss and no more of it.
        Where the routings of a scale and budget share seeds, only those count.
        `settings` are the conditions, scale and budget apart, in which the runs differ. Runs without a finite
        loss are left out; `note` names them, and seeds that not all routings have.

    Raises:
        RequestError: No run is there, one is there twice, or a file is damaged.
    """
    rows = [
        {
            **head,
            "stored_bytes": 4 * record.costs["parameters"],
            "forward_flops_per_token": record.costs["forward_flops_per_token"],
            "kv_bytes_per_token": record.costs["kv_bytes_per_token"],
            **{name: record.summary.get(name) for name in ("train_flops", "seconds", "joules")},
            "peak_memory_bytes": record.summary.get("peak_memory_bytes"),
        }
        for record, head in _finished(location)
    ]
    return _averaged(rows, ARM_COLUMNS, CONSTRAINTS, ["settings"])


def exports_table(location: str | Path) -> pd.DataFrame:
    """What each arm takes to run in each format it was exported to, as measured by `src/export.py`.

    Only exports of a run's last checkpoint count, whose loss is known.

    Args:
        location: A folder of run folders, a glob, or a run folder.

    Returns:
        As `deployment_table`, with the `format` and the `machine` that measured it; frontiers hold among the
        arms and formats of one machine.

    Raises:
        RequestError: No run is there, one is there twice, or a file is damaged.
    """
    rows = []
    for record, head in _finished(location):
        for path in sorted(record.folder.exports.glob("*.json")):
            figures = read_object(record.folder, f"{record.folder.exports.name}/{path.name}")
            if not figures.keys() >= {"format", "machine", "checkpoint_tokens", "tokens_per_second"}:
                raise RequestError(f"{path} is damaged; restore it, or export the run again")
            if figures["checkpoint_tokens"] == record.summary["train_tokens"]:
                rate = figures["tokens_per_second"]
                measured = {**figures, "seconds_per_token": 1 / rate if rate else None}
                place = {name: figures[name] for name in ("format", "machine")}
                rows.append({**head, **place, **{name: measured.get(name) for name in EXPORT_CONSTRAINTS}})
    return _averaged(rows, [*ARM_COLUMNS, "format", "machine"], EXPORT_CONSTRAINTS, ["settings", "machine"])


def _finished(location: str | Path) -> list[tuple[RunRecord, dict[str, Any]]]:
    """Finished runs, each with the columns that say which it is and its loss."""
    records = read_records(location)
    refuse_repeats(records)
    done = [record for record in records if record.is_done]
    return [
        (
            record,
            {
                **record.identity(settings),
                "device": record.circumstances["execution.device"],
                "val_loss": record.summary.get("val_loss"),
            },
        )
        for record, settings in zip(done, common_settings(done), strict=True)
    ]


def _averaged(
    rows: list[dict[str, Any]], keys: list[str], costs: dict[str, str], within: list[str]
) -> pd.DataFrame:
    """Means by arm, and which arms are on the frontier of each cost among those that share `within`."""
    columns = [*keys, "runs", "val_loss", *costs, *(f"{name}_frontier" for name in costs), "note"]
    numbers = ["val_loss", *costs]
    table = pd.DataFrame(rows, columns=["run_id", "seed", "device", *keys, *numbers])
    table = table.astype(dict.fromkeys(numbers, "float64"))
    finite = np.isfinite(table["val_loss"])
    shared = _are_shared(table[finite], [key for key in keys if key != "routing"])
    remarks = _remarks(table.assign(finite=finite, shared=shared.reindex(table.index, fill_value=True)), keys)
    counted = table[finite & shared.reindex(table.index, fill_value=False)]
    grouped = counted.groupby(keys, sort=False)
    means = grouped[numbers].mean().join(grouped.size().rename("runs")).reset_index()
    arms = remarks.merge(means, how="left", on=keys)
    arms["runs"] = arms["runs"].fillna(0).astype(int)
    for name in costs:
        arms[f"{name}_frontier"] = False
        for _, members in arms.groupby(within, sort=False):
            arms.loc[members.index, f"{name}_frontier"] = on_frontier(members, name)
    return arms.reindex(columns=columns)


def _are_shared(table: pd.DataFrame, cell: list[str]) -> "pd.Series[bool]":
    """Which rows have a seed that all routings of their cell have; all rows of a cell where there is none."""
    routings = table.groupby(cell, dropna=False)["routing"].transform("nunique")
    shared = table.groupby([*cell, "seed"], dropna=False)["routing"].transform("nunique") == routings
    return shared | ~shared.groupby([table[key] for key in cell], dropna=False).transform("any")


def _remarks(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """By arm, which runs are left out and why, and where runs were measured if not all on one device."""

    def words(arm: pd.DataFrame) -> str:
        lost = sorted(set(arm.loc[~arm["finite"], "run_id"]))
        alone = sorted(set(arm.loc[~arm["shared"], "seed"]))
        found = [f"{', '.join(lost)} left out: no finite loss"] if lost else []
        if alone:
            found.append(f"seeds {', '.join(map(str, alone))} left out: not of all routings")
        if several_devices:
            found.append(f"measured on {', '.join(sorted(set(arm['device'].astype(str))))}")
        return "; ".join(found)

    several_devices = table["device"].nunique(dropna=False) > 1
    rows = [[*key, words(arm)] for key, arm in table.groupby(keys, sort=False) if isinstance(key, tuple)]
    return pd.DataFrame(rows, columns=[*keys, "note"])


def on_frontier(table: pd.DataFrame, cost: str) -> list[bool]:
    """Whether no other row has a lower loss at no higher cost, or the same loss at a lower one.

    A row whose loss or cost is not known is on no frontier.
    """
    pairs = list(zip(table["val_loss"], table[cost], strict=True))
    return [
        math.isfinite(own_spent)
        and math.isfinite(own_loss)
        and not any(
            (loss < own_loss and spent <= own_spent) or (loss <= own_loss and spent < own_spent)
            for loss, spent in pairs
        )
        for own_loss, own_spent in pairs
    ]
