"""The runs of a project at Weights & Biases as run folders, for every table, notebook and report."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import wandb

from lft.errors import RequestError, RunFailed
from lft.runs import RECORD, RunFolder, RunState
from lft.tracking.account import has_account
from lft.tracking.remote_run import ORIGIN, RemoteRun

NO_ACCOUNT = (
    "no account of Weights & Biases is configured; log in with `wandb login`, or set WANDB_API_KEY "
    "(and WANDB_BASE_URL for a server of your own)"
)
# What lies directly in a downloaded folder.
DOWNLOADED = {pattern.split("/")[0] for pattern in RECORD} | {ORIGIN, "DONE"}


@dataclass(frozen=True)
class Outcome:
    """What became of one run.

    Attributes:
        run: Its name.
        remark: What was done, for a person.
        is_there: Whether a folder holds the run now.
    """

    run: str
    remark: str
    is_there: bool = True


def download(project: str, entity: str, filters: Mapping[str, Any], out: Path) -> Iterator[Outcome]:
    """Make a run folder of each run of a project, the newest first.

    Folders that were not downloaded are never touched; of those that were, the unfinished ones are renewed.

    Args:
        project: The project.
        entity: User or team; the account's default when empty.
        filters: What narrows the runs, as `wandb.Api.runs` takes it.
        out: The folder of run folders.

    Raises:
        RequestError: No account is configured, there is no such project or run, or `out` takes no folders.
        RunFailed: Weights & Biases could not be read; what was fetched before is whole.
    """
    if not has_account():
        raise RequestError(NO_ACCOUNT)
    with _scratch(out) as scratch:
        copies = _Copies(out, scratch)
        for run in _list_runs(f"{entity}/{project}" if entity else project, filters):
            try:
                outcome = copies.take(run)
            except (KeyError, TypeError, ValueError) as error:
                remark = f"skipped: its record at W&B is damaged ({_first_line(error)})"
                outcome = Outcome(run.label, remark, is_there=False)
            except (Exception, KeyboardInterrupt) as error:
                raise RunFailed(
                    f"{run.label} was not fetched ({_first_line(error)}); what came before it is whole in "
                    f"{out}, and the same command goes on from there"
                ) from error
            yield outcome


def _list_runs(path: str, filters: Mapping[str, Any]) -> list[RemoteRun]:
    try:
        runs = wandb.Api().runs(path, dict(filters), order="-created_at", per_page=100, lazy=False)
        found = [RemoteRun(run) for run in runs]
    # The library raises whatever its transport does; none of it is a fault of ours.
    except Exception as error:
        if "Could not find project" in str(error):
            raise RequestError(
                f"there is no project {path} at Weights & Biases that your account may see; "
                "give another one with project= and entity="
            ) from error
        raise RunFailed(
            f"Weights & Biases could not be read; look at network and API key: {_first_line(error)}"
        ) from error
    if not found:
        remark = f" that matches {dict(filters)}; give another filter=" if filters else "; train some first"
        raise RequestError(f"the project {path} has no run{remark}")
    return found


def _first_line(error: BaseException) -> str:
    """What went wrong, without the page that a server may have answered with."""
    return (str(error).splitlines() or [type(error).__name__])[0]


class _Copies:
    """The folder of run folders, and what this session has seen of the project."""

    def __init__(self, out: Path, scratch: Path) -> None:
        self.out, self.scratch = out, scratch
        self._seen: set[str] = set()
        self._by_identity = _identities(out)

    def take(self, run: RemoteRun) -> Outcome:
        """Make the folder of a run, unless it is to stay away."""
        present = self._by_identity.get(run.id)
        outcome = self._stays(present, run) if present else None
        outcome = outcome or self._take_if_new(run)
        self._seen.add(run.id)
        return outcome

    def _take_if_new(self, run: RemoteRun) -> Outcome:
        if run.missing:
            remark = f"skipped: W&B does not hold its {' and '.join(run.missing)}; copy its folder instead"
            return Outcome(run.label, remark, is_there=False)
        target = RunFolder(self.out / run.run_id)
        if target.path.exists() and (outcome := self._stays(target, run)):
            return outcome
        made = run.write(self.scratch / run.id)
        outcome = Outcome(target.name, _contents(made))
        if target.path.exists():
            target.path.rename(self.scratch / f"{run.id}.earlier")
        made.path.rename(target.path)
        return outcome

    def _stays(self, folder: RunFolder, run: RemoteRun) -> Outcome | None:
        """Why a folder is not replaced; None for an unfinished copy of the run."""
        # Training that goes on in a downloaded folder makes it one's own.
        if not (folder.path / ORIGIN).exists() or folder.checkpoints.exists():
            return Outcome(folder.name, f"left alone: {folder.path} is there and was not downloaded")
        if others := sorted({path.name for path in folder.path.iterdir()} - DOWNLOADED):
            return Outcome(folder.name, f"left alone: it holds files of your own ({', '.join(others)})")
        held = folder.read(ORIGIN)["wandb_id"]
        if held in self._seen:
            return Outcome(folder.name, f"left out: it was started over as {held}")
        if held != run.id:
            remark = f"skipped: {folder.path} is a copy of {held}; move it, or give another folder with out="
            return Outcome(folder.name, remark, is_there=False)
        return Outcome(folder.name, "there already") if folder.state is RunState.DONE else None


def _contents(folder: RunFolder) -> str:
    state = "unfinished" if folder.state is RunState.STARTED else str(folder.state)
    evaluations = len(list(folder.evaluations.glob("*.parquet")))
    parts = [f"{len(folder.read_metrics())} logged steps"]
    parts += ["visits"] if folder.visits.exists() else []
    parts += [f"{evaluations} evaluation{'s' if evaluations > 1 else ''}"] if evaluations else []
    return f"{state}: {', '.join(parts)}"


def _identities(out: Path) -> dict[str, RunFolder]:
    """The runs in a folder by their identity at W&B."""
    found = {}
    for path in sorted(out.glob("*/run.json")):
        # A damaged folder is not ours to judge here: it is found by its name.
        with suppress(AttributeError, ValueError):
            found[str(RunFolder(path.parent).read("run.json").get("wandb_id"))] = RunFolder(path.parent)
    return found


@contextmanager
def _scratch(out: Path) -> Iterator[Path]:
    """A folder for what is not whole yet, where no table looks for runs."""
    is_new = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(f"out={out} cannot hold run folders ({error.strerror}); name another") from error
    try:
        with tempfile.TemporaryDirectory(dir=out, prefix=".download-") as scratch:
            yield Path(scratch)
    finally:
        if is_new:
            with suppress(OSError):
                out.rmdir()
