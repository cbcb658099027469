"""Items of evaluations as data frames: one row an item that a run was asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lft.analysis.records import RunRecord, read_records
from lft.errors import RequestError
from lft.runs import VALIDATION, as_text, read_evaluations

IDENTITY = ["subtask", "item", "content", "category"]


@dataclass(frozen=True)
class Evaluation:
    """What one checkpoint of a run answered to one task.

    Attributes:
        run: The run.
        task: The task's name.
        tokens: Training tokens of the checkpoint.
        items: One row an item, columns of `evals/<task>.parquet`.
        provenance: How it was asked.
    """

    run: RunRecord
    task: str
    tokens: int
    items: pd.DataFrame
    provenance: dict[str, Any]

    @property
    def conditions(self) -> dict[str, Any]:
        """What two evaluations must share to be compared item by item."""
        identity = self.provenance["identity"]
        return {key: value for key, value in identity.items() if key != "checkpoint_sha256"}


def evaluations(
    location: str | Path, tasks: Sequence[str] = (), every_checkpoint: bool = False
) -> list[Evaluation]:
    """The evaluations of runs, in the order of the runs and of `tasks`.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        tasks: Which tasks; all that were asked when empty.
        every_checkpoint: Whether to take all checkpoints, not the last evaluated one of each task alone.

    Raises:
        RequestError: No run is there, or a file is damaged.
    """
    found = []
    for record in read_records(location):
        paths = {path.stem: path for path in sorted(record.folder.evaluations.glob("*.parquet"))}
        for task in tasks or paths:
            if task not in paths:
                continue
            read = read_evaluations(paths[task])
            kept = sorted(read.provenance) if every_checkpoint else [max(read.provenance)]
            table = read.items.to_pandas()
            for tokens in kept:
                items = table[table["checkpoint_tokens"] == tokens].reset_index(drop=True)
                found.append(Evaluation(record, task, tokens, items, read.provenance[tokens]))
    return found


def asked_tasks(location: str | Path) -> list[str]:
    """The tasks that runs were asked; the validation text is none.

    Args:
        location: A folder of run folders, a glob, or a run folder.

    Raises:
        RequestError: No run is there.
    """
    files = [
        path for record in read_records(location) for path in record.folder.evaluations.glob("*.parquet")
    ]
    return sorted({path.stem for path in files} - {VALIDATION})


def items_table(
    location: str | Path, tasks: Sequence[str] = (), every_checkpoint: bool = False
) -> pd.DataFrame:
    """All items as one table: identity of the run, `task`, and the columns of `evals/<task>.parquet`.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        tasks: Which tasks; all that were asked when empty.
        every_checkpoint: Whether to take all checkpoints, not the last evaluated one of each task alone.

    Raises:
        RequestError: No run is there, or none was evaluated.
    """
    found = evaluations(location, tasks, every_checkpoint)
    if not found:
        what = f"was asked {', '.join(tasks)}" if tasks else "was evaluated"
        raise RequestError(f"no run in {location} {what}; ask them with src/eval.py first")
    return pd.concat([_with_run(evaluation) for evaluation in found], ignore_index=True)


def _with_run(evaluation: Evaluation) -> pd.DataFrame:
    run = evaluation.run
    columns: dict[str, Any] = {
        "run_id": run.folder.name,
        "routing": run.routing,
        "scale": run.scale,
        "budget_tokens": run.budget_tokens,
        "seed": run.seed,
        "task": evaluation.task,
    }
    table = evaluation.items.copy()
    for place, (name, value) in enumerate(columns.items()):
        table.insert(place, name, value)
    return table


def moment(evaluation: Evaluation) -> int | str:
    """When in training: runs of other lengths, as those of equal FLOPs, meet at their ends."""
    at_end = evaluation.tokens == evaluation.run.summary.get("train_tokens")
    return "end" if at_end else evaluation.tokens


def why_not_comparable(arm: Evaluation, other: Evaluation) -> str:
    """Why two evaluations of one task cannot be compared item by item; empty where they can."""
    if moment(arm) != moment(other):
        return f"asked after {arm.tokens:,} tokens, the baseline after {other.tokens:,}"
    differing = [key for key in arm.conditions if arm.conditions[key] != other.conditions.get(key)]
    if differing:
        values = ", ".join(
            f"{key} ({as_text(arm.conditions[key])}, not {as_text(other.conditions.get(key))})"
            for key in differing
        )
        return f"asked with another {values}"
    if not arm.items[IDENTITY].equals(other.items[IDENTITY]):
        return "the two were asked different items"
    return ""
