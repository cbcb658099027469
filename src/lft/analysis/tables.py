"""Runs as data frames: one row a run, or one row a logged step."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lft.analysis.metric_rows import metric_rows
from lft.analysis.records import RunRecord, read_records, setting_labels

INTEGER_COLUMNS = (
    "budget_tokens",
    "seed",
    "parameters",
    "embedding_parameters",
    "num_blocks",
    "num_steps",
    "steps",
    "planned_steps",
    "train_tokens",
)
METRIC_COLUMNS = (
    "train/tokens",
    "train/flops",
    "train/loss",
    "val/loss",
    "val/bits_per_byte",
    "optim/lr",
    "optim/grad_norm",
    "perf/tokens_per_second",
    "perf/mfu",
    "perf/seconds",
)


def runs_table(location: str | Path) -> pd.DataFrame:
    """One row a run, whatever its state; an unfinished run shows the latest it logged.

    Args:
        location: A folder of run folders, a glob, or a run folder.

    Returns:
        Columns `run_id state routing scale budget_tokens settings seed parameters embedding_parameters
        num_blocks num_steps steps planned_steps train_tokens val_loss val_bits_per_byte tokens_per_second
        train_flops flop_ratio steps_ratio seconds peak_memory_bytes data failure`. `num_steps` counts block
        executions, `steps` optimizer steps; `flop_ratio` is the whole run's training FLOPs, `steps_ratio` the
        block executions, relative to the standard routing of the same scale over the same budget.

    Raises:
        RequestError: No run is there.
    """
    records = read_records(location)
    rows = [_run_row(record, label) for record, label in zip(records, setting_labels(records), strict=True)]
    table = pd.DataFrame(rows)
    for column in INTEGER_COLUMNS:
        # Nullable, so that a run that has not got there yet does not turn the counts into floats.
        table[column] = table[column].astype("Int64")
    for column in ("val_loss", "val_bits_per_byte", "tokens_per_second", "train_flops", "seconds"):
        table[column] = table[column].astype("float64")
    return table


def curves_table(location: str | Path) -> pd.DataFrame:
    """One row a logged step, with the run's identity, the metrics under their logged names and FLOPs.

    Args:
        location: A folder of run folders, a glob, or a run folder.

    Returns:
        Columns `run_id state routing scale budget_tokens settings seed parameters step tokens`, and the
        metrics; `settings` is what else sets runs of one scale and budget apart. A value not
        logged at a step is NaN. `train/flops` are the training FLOPs up to that step.

    Warns:
        UserWarning: Damaged lines of a run were left out.

    Raises:
        RequestError: No run is there.
    """
    records = read_records(location)
    identities = [
        _identity(record, label) for record, label in zip(records, setting_labels(records), strict=True)
    ]
    # Reading and parsing leave Python's lock alone.
    with ThreadPoolExecutor() as pool:
        read = list(pool.map(metric_rows, [record.folder for record in records]))
    for record, (_, damaged) in zip(records, read, strict=True):
        if damaged:
            what = "1 damaged line" if damaged == 1 else f"{damaged} damaged lines"
            warnings.warn(f"{record.folder.name}: {what} of metrics.jsonl left out", stacklevel=2)
    # A metric of one's own does not take the place of what the run is.
    curves = [rows.drop(columns=list(identities[0]), errors="ignore") for rows, _ in read]
    first = [*identities[0], "step", "tokens", *METRIC_COLUMNS]
    # Rows of a table are taken many times faster than columns are filled with words, run by run.
    whose = pd.DataFrame(identities).take(np.repeat(np.arange(len(curves)), [len(rows) for rows in curves]))
    table = pd.concat([whose.reset_index(drop=True), pd.concat(curves, ignore_index=True)], axis="columns")
    # Further metrics (a callback of one's own) keep their names behind the known ones.
    table = table.reindex(columns=[*first, *sorted(set(map(str, table)) - set(first))])
    for name in METRIC_COLUMNS:
        table[name] = pd.to_numeric(table[name], errors="coerce").astype("float64")
    return table


def _identity(record: RunRecord, settings: str) -> dict[str, Any]:
    return {
        "run_id": record.folder.name,
        "state": str(record.folder.state),
        **record.identity(settings),
        "parameters": record.costs.get("parameters"),
    }


def _run_row(record: RunRecord, settings: str) -> dict[str, Any]:
    costs, plan = record.costs, record.record.get("plan", {})
    progress = record.summary if record.is_done else _progress(record)
    return {
        **_identity(record, settings),
        "embedding_parameters": costs.get("embedding_parameters"),
        "num_blocks": record.record.get("num_blocks", record.config["scale"].get("num_blocks")),
        "num_steps": len(record.record["schedule"]) if "schedule" in record.record else None,
        "steps": plan.get("steps") if record.is_done else record.latest("step"),
        "planned_steps": plan.get("steps"),
        "train_tokens": progress.get("train_tokens"),
        "val_loss": progress.get("val_loss"),
        "val_bits_per_byte": progress.get("val_bits_per_byte"),
        "tokens_per_second": progress.get("tokens_per_second"),
        "train_flops": progress.get("train_flops"),
        "flop_ratio": costs.get("total_flop_ratio_to_standard"),
        "steps_ratio": costs.get("steps_ratio_to_standard"),
        "seconds": progress.get("seconds"),
        "peak_memory_bytes": progress.get("peak_memory_bytes"),
        "data": record.config.get("data", {}).get("name"),
        "failure": record.folder.failure if record.folder.state == "failed" else None,
    }


def _progress(record: RunRecord) -> dict[str, Any]:
    tokens = record.latest("tokens")
    return {
        "train_tokens": tokens,
        "val_loss": record.latest("val/loss"),
        "val_bits_per_byte": record.latest("val/bits_per_byte"),
        "tokens_per_second": record.latest("perf/tokens_per_second"),
        "train_flops": record.latest("train/flops"),
        "seconds": record.latest("perf/seconds"),
    }
