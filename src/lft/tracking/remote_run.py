"""One run at Weights & Biases, and the run folder that can be made from it."""

import json
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from lft.runs import RECORD, RunFolder, RunState, write_json, write_text
from lft.tracking.account import RUN_STATE

# Says of a run folder that it was downloaded, and from where.
ORIGIN = "downloaded.json"
# What W&B calls a run whose last session reached its end, well or not, and so uploaded the whole record.
ENDED = ("finished", "failed")
AXES = frozenset(("step", "train/tokens", "train/flops"))
# What JSON proper has no word for, as W&B writes it.
NOT_FINITE = ("NaN", "Infinity", "-Infinity")


class RemoteRun:
    """A run of this project as W&B holds it.

    Args:
        run: The run from `wandb.Api`.
    """

    def __init__(self, run: Any) -> None:
        self._run = run
        self.id: str = run.id
        self.label: str = run.name or run.id

    @property
    def has_ended(self) -> bool:
        """Whether its last session reached an end; else W&B knows its history, and no later record."""
        return self._run.state in ENDED

    @property
    def state(self) -> RunState:
        """How far the run has come, as its own folder told."""
        told = self._run.summary_metrics.get(RUN_STATE) if self.has_ended else None
        # A run that failed and was taken up again has the marks of both sessions.
        return RunState(told) if told in (RunState.DONE, RunState.FAILED) else RunState.STARTED

    @cached_property
    def missing(self) -> list[str]:
        """The files without which tables would be wrong, as far as W&B does not hold them."""
        needed = ["config.json", "run.json"]
        needed += {RunState.DONE: ["summary.json"], RunState.FAILED: ["FAILED"]}.get(self.state, [])
        return [name for name in needed if name not in self._files]

    @cached_property
    def run_id(self) -> str:
        """The run's id, which names its folder, whatever it was renamed to at W&B."""
        with tempfile.TemporaryDirectory() as folder:
            self._files["run.json"].download(root=folder).close()
            name = str(RunFolder(Path(folder)).read("run.json")["run_id"])
        if name in ("", ".", "..") or Path(name).name != name:
            raise ValueError(f"its run.json names the folder '{name}'")
        return name

    def write(self, path: Path) -> RunFolder:
        """Make the run folder.

        Args:
            path: Where; the folder must not exist yet.
        """
        path.mkdir()
        folder = RunFolder(path)
        for name in self._wanted:
            self._files[name].download(root=str(path)).close()
        if "metrics.jsonl" not in self._wanted:
            lines = [json.dumps(row) + "\n" for row in metric_rows(self._run.scan_history(use_cache=False))]
            write_text(path / "metrics.jsonl", "".join(lines))
        write_json(path / ORIGIN, {"project": "/".join(self._run.path[:2]), "wandb_id": self.id})
        if self.state is RunState.DONE:
            write_text(path / "DONE", "")
        return folder

    @cached_property
    def _files(self) -> dict[str, Any]:
        return {
            file.name: file
            for file in self._run.files(per_page=500)
            if any(fnmatchcase(file.name, pattern) for pattern in RECORD)
        }

    @property
    def _wanted(self) -> list[str]:
        outdated = set()
        if self.state is not RunState.DONE:
            outdated.add("summary.json")
        if self.state is not RunState.FAILED:
            outdated.add("FAILED")
        if not self.has_ended:
            outdated.add("metrics.jsonl")
        return [name for name in self._files if name not in outdated]


def metric_rows(history: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of `metrics.jsonl` among those that W&B was sent.

    Args:
        history: Every row of the run's history, in the order of their logging.
    """
    latest = None
    for sent in history:
        # The newest of the exported rows come a second time with those that are not exported yet.
        if sent["_step"] == latest:
            continue
        latest = sent["_step"]
        row = {
            key: float(value) if value in NOT_FINITE else value
            for key, value in sent.items()
            if not key.startswith(("_", "visit/")) and value is not None
        }
        # Rows of visits and pictures have nothing else; the record of visits is a file of its own.
        if "step" in row and not AXES.issuperset(row):
            row["step"] = int(row["step"])
            yield {"step": row.pop("step"), "tokens": int(row["train/tokens"]), **row}
