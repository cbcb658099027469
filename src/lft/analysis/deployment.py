"""Quality against what a model takes to keep and to run: which arms are on the frontier."""

from pathlib import Path

import pandas as pd

from lft.analysis.records import read_records, refuse_repeats, setting_labels

# What one would like to have little of, and what it is called.
CONSTRAINTS = {
    "stored_bytes": "stored bytes (float32)",
    "forward_flops_per_token": "forward FLOPs per token",
    "kv_bytes_per_token": "cache bytes per token (bfloat16)",
    "train_flops": "training FLOPs",
    "seconds": "training seconds",
    "peak_memory_bytes": "peak training memory (bytes)",
}
DEPLOYMENT_COLUMNS = ["routing", "scale", "budget_tokens", "settings", "runs", "val_loss", *CONSTRAINTS]


def deployment_table(location: str | Path) -> pd.DataFrame:
    """What each arm reaches and takes, averaged over its finished runs.

    Args:
        location: A folder of run folders, a glob, or a run folder.

    Returns:
        Columns `routing scale budget_tokens settings runs val_loss`, the costs, and for each cost
        `<cost>_frontier`: whether no other arm has both a lower loss and no more of it.

    Raises:
        RequestError: No run is there, or one is there twice.
    """
    records = read_records(location)
    refuse_repeats(records)
    rows = [
        {
            "routing": record.routing,
            "scale": record.scale,
            "budget_tokens": record.budget_tokens,
            "settings": label,
            "val_loss": record.summary["val_loss"],
            "stored_bytes": 4 * record.costs["parameters"],
            "forward_flops_per_token": record.costs["forward_flops_per_token"],
            "kv_bytes_per_token": record.costs["kv_bytes_per_token"],
            "train_flops": record.summary["train_flops"],
            "seconds": record.summary["seconds"],
            "peak_memory_bytes": record.summary["peak_memory_bytes"],
        }
        for record, label in zip(records, setting_labels(records), strict=True)
        if record.is_done
    ]
    if not rows:
        return pd.DataFrame(columns=[*DEPLOYMENT_COLUMNS, *(f"{name}_frontier" for name in CONSTRAINTS)])
    grouped = pd.DataFrame(rows).groupby(["routing", "scale", "budget_tokens", "settings"], sort=False)
    table = grouped.mean().join(grouped.size().rename("runs")).reset_index()[DEPLOYMENT_COLUMNS]
    return table.assign(**{f"{name}_frontier": on_frontier(table, name) for name in CONSTRAINTS})


def on_frontier(table: pd.DataFrame, cost: str) -> list[bool]:
    """Whether no other row has a lower loss at no higher cost, or the same loss at a lower one."""
    pairs = list(zip(table["val_loss"], table[cost], strict=True))
    return [
        not any(
            (loss < own_loss and spent <= own_spent) or (loss <= own_loss and spent < own_spent)
            for loss, spent in pairs
        )
        for own_loss, own_spent in pairs
    ]
