"""The run folder: the record of one run, and the only place where programs meet over it."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from glob import glob
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from lft.errors import RequestError

# What tables are made from: all of a run but its model, its pictures and what other programs left there.
RECORD = (
    "run.json",
    "metrics.jsonl",
    "visits.parquet",
    "evals/*.parquet",
    "summary.json",
    "FAILED",
    "config.json",
)


class RunState(StrEnum):
    """How far a run has come, read off the markers in its folder."""

    NEW = "new"
    STARTED = "started"
    DONE = "done"
    FAILED = "failed"


class RunFolder:
    """A run folder and the files in it.

    Args:
        path: The folder; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    @property
    def name(self) -> str:
        """The run's id."""
        return self.path.name

    @property
    def state(self) -> RunState:
        """The run's state; a folder with a config and no marker has started and can resume."""
        if (self.path / "DONE").exists():
            return RunState.DONE
        if (self.path / "FAILED").exists():
            return RunState.FAILED
        return RunState.STARTED if (self.path / "config.json").exists() else RunState.NEW

    @property
    def checkpoints(self) -> Path:
        """Where checkpoints lie."""
        return self.path / "checkpoints"

    @property
    def last_checkpoint(self) -> Path:
        """The checkpoint a run resumes from."""
        return self.checkpoints / "last.ckpt"

    @property
    def visits(self) -> Path:
        """What each visit did over training, by `lft.runs.visits`."""
        return self.path / "visits.parquet"

    @property
    def tokenizer(self) -> Path:
        """A copy of the tokenizer, so that the folder suffices to use the model."""
        return self.path / "tokenizer.json"

    @property
    def evaluations(self) -> Path:
        """Where the items of each task lie, by `lft.runs.items`."""
        return self.path / "evals"

    def items(self, task: str) -> Path:
        """Where the items of a task lie."""
        return self.evaluations / f"{task}.parquet"

    @property
    def exports(self) -> Path:
        """Where it lies, by format, what the model takes to run when exported."""
        return self.path / "exports"

    @property
    def pictures(self) -> Path:
        """Where figures of this run alone lie."""
        return self.path / "pictures"

    def record_files(self) -> list[Path]:
        """The files that tables are made from, as far as they are there."""
        return [path for pattern in RECORD for path in sorted(self.path.glob(pattern))]

    def create(self, config: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        """Make the folder with `config.json` and `run.json`, or renew both when the run resumes."""
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        (self.path / "FAILED").unlink(missing_ok=True)
        write_json(self.path / "config.json", config)
        write_json(self.path / "run.json", record)

    def clear(self) -> None:
        """Delete the run, and the links to its W&B files, so that it starts over."""
        if self.path.exists():
            shutil.rmtree(self.path)
            for link in self.path.parent.iterdir():
                if link.is_symlink() and not link.exists():
                    link.unlink()

    def mark_done(self, summary: Mapping[str, Any]) -> None:
        """Write `summary.json`, then `DONE`."""
        write_json(self.path / "summary.json", summary)
        write_text(self.path / "DONE", "")

    def mark_failed(self, cause: str) -> None:
        """Write `FAILED` with the traceback."""
        write_text(self.path / "FAILED", cause)

    @property
    def failure(self) -> str:
        """The last line of `FAILED`: the exception and its message."""
        lines = (self.path / "FAILED").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "no cause was written"

    def read(self, name: str) -> dict[str, Any]:
        """A JSON file of the folder, empty when it is not there."""
        path = self.path / name
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def read_metrics(self) -> list[dict[str, Any]]:
        """The logged rows in the order of their steps.

        A resumed run logs the steps after its checkpoint again: rows of one step are merged and the
        last write of each value wins. A line that is cut short or damaged is left out.
        """
        rows: dict[int, dict[str, Any]] = {}
        for row in self._logged():
            if row is not None:
                rows.setdefault(row["step"], {}).update(row)
        return [rows[step] for step in sorted(rows)]

    def count_damaged_lines(self) -> int:
        """How many lines `read_metrics` leaves out."""
        return sum(row is None for row in self._logged())

    def _logged(self) -> Iterator[dict[str, Any] | None]:
        """Line by line what was logged; None for a line that is cut short or damaged."""
        path = self.path / "metrics.jsonl"
        # What a kill or a bad disk has garbled is no reason not to read the rest.
        content = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        for line in filter(str.strip, content.splitlines()):
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                row = None
            yield row if isinstance(row, dict) and isinstance(row.get("step"), int) else None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run for this process.

        Raises:
            RequestError: Another process is training it.
        """
        runs = self.path.parent
        is_new = not runs.exists()
        runs.mkdir(parents=True, exist_ok=True)
        path = runs / f".{self.name}.lock"
        lock = FileLock(path, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise RequestError(
                f"{self.path} is being trained by another process; wait for it or stop it"
            ) from None
        try:
            yield
        finally:
            # Before the release: whoever waits opens the file anew and sees that this one is gone.
            path.unlink(missing_ok=True)
            lock.release()
            if is_new:
                with suppress(OSError):
                    runs.rmdir()


def find_runs(location: str | Path, key: str = "runs") -> list[RunFolder]:
    """The runs at a folder, a glob, or a run folder itself, in the order of their names.

    Args:
        location: Where to look.
        key: What the person who asks calls the location.

    Raises:
        RequestError: No run is there.
    """
    text = str(location)
    candidates = [Path(text)] if Path(text).is_dir() else [Path(match) for match in sorted(glob(text))]
    folders: dict[Path, RunFolder] = {}
    for candidate in candidates:
        inside = [candidate] if (candidate / "config.json").exists() else sorted(candidate.glob("*"))
        for folder in inside:
            # W&B's folders are linked beside the runs; a link is never a run of its own.
            if (folder / "config.json").exists() and not folder.is_symlink():
                folders[folder] = RunFolder(folder)
    if not folders:
        raise RequestError(f"no runs in {text}; {_elsewhere(candidates, key)}")
    return list(folders.values())


def _elsewhere(candidates: list[Path], key: str) -> str:
    nearby = sorted({path.parents[1] for place in candidates for path in place.glob("*/*/config.json")})
    if nearby:
        return f"there are some in {', '.join(f'{key}={folder}' for folder in nearby)}"
    return f"train some first, or give another folder with {key}=..."


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON so that the file is either whole or absent."""
    write_text(path, json.dumps(content, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text so that the file is either whole or absent."""
    with whole_or_absent(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


@contextmanager
def whole_or_absent(path: Path) -> Iterator[Path]:
    """A place to write a file or a folder to: it takes the path's own when all is written, or goes."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield unfinished
        unfinished.replace(path)
    except BaseException:
        if unfinished.is_dir():
            shutil.rmtree(unfinished)
        else:
            unfinished.unlink(missing_ok=True)
        raise
