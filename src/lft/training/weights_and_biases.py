"""A run at Weights & Biases: a view of the run folder."""

import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import wandb
from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only

from lft.runs import RunFolder, whole_or_absent
from lft.tracking import RUN_STATE, resolve_mode


class WeightsAndBiases(Logger):
    """One W&B run per training run, kept apart from any other in the process.

    Lightning's own logger reuses an active run and ends a crashed one as finished; this one starts its
    own and ends it with the exit code. The record goes along as files, so that `src/download.py` can make
    the run folder again.

    Args:
        folder: The run folder; W&B writes into its `wandb/`.
        run_id: Name of the run.
        wandb_id: Identity at W&B, the same when the run resumes.
        config: The full resolved config.
        project: W&B project.
        entity: W&B user or team; the account's default when not given.
        group: The sweep this run belongs to.
        tags: Tags of the run.
        mode: auto, online, offline or disabled; auto is online where an API key is configured.
    """

    def __init__(
        self,
        folder: Path,
        run_id: str,
        wandb_id: str,
        config: dict[str, Any],
        project: str,
        entity: str | None,
        group: str,
        tags: list[str],
        mode: str,
    ) -> None:
        super().__init__()
        self.folder = RunFolder(folder)
        self.mode = resolve_mode(mode)
        self._arguments: dict[str, Any] = {
            "name": run_id,
            "id": wandb_id,
            "config": config,
            "project": project,
            "entity": entity,
            "group": group,
            "tags": tags,
        }
        self._run: Any = None

    @property
    def name(self) -> str:
        """The project."""
        return self._arguments["project"]

    @property
    def version(self) -> str:
        """The identity at W&B."""
        return self._arguments["id"]

    @rank_zero_only
    def start(self) -> None:
        """Open the run, with tokens as the axis of every chart."""
        self._run = wandb.init(
            **self._arguments,
            dir=self.folder.path,
            mode=cast(Any, self.mode),
            resume="allow",
            reinit="create_new",
            settings=wandb.Settings(silent=True),
        )
        self._run.define_metric("train/tokens", hidden=True)
        for metric in ("train/*", "val/*", "optim/*", "perf/*", "visit/*"):
            self._run.define_metric(metric, step_metric="train/tokens")
        if self.mode == "offline":
            self._link()
        self._upload(self.folder.record_files())

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Add a row; its optimizer step is a column, since W&B refuses a step it has passed."""
        if self._run is not None:
            self._run.log({**metrics, "step": step})
            # Charts show a part of the visits; a run that is killed has no other moment to send them all.
            if any(name.startswith("visit/") for name in metrics):
                self._upload([self.folder.visits])

    @rank_zero_only
    def log_pictures(self, pictures: dict[str, Path], metrics: dict[str, float], step: int) -> None:
        """Add a row of pictures, each under `visit/pictures/<name>`, with what places it on the axes."""
        if self._run is not None:
            images = {f"visit/pictures/{name}": wandb.Image(str(path)) for name, path in pictures.items()}
            self._run.log({**metrics, **images, "step": step})

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Nothing: the config was given when the run was opened."""

    @rank_zero_only
    def finish(self, exit_code: int, summary: dict[str, Any] | None = None) -> None:
        """Close the run; any exit code but 0 shows it as failed."""
        if self._run is not None:
            # W&B shows a run that was stopped and may resume as failed, too.
            self._run.summary.update({**(summary or {}), RUN_STATE: str(self.folder.state)})
            self._upload(self.folder.record_files())
            self._run.finish(exit_code=exit_code)
            self._run = None

    def _upload(self, files: Iterable[Path]) -> None:
        # As copies: links would break when the folder of an offline run moves before it is synchronized.
        for path in files if self.mode != "disabled" else ():
            copy = Path(self._run.dir) / path.relative_to(self.folder.path)
            copy.parent.mkdir(exist_ok=True)
            with whole_or_absent(copy) as unfinished:
                shutil.copyfile(path, unfinished)
            self._run.save(copy, base_path=self._run.dir, policy="now", glob=False)

    def _link(self) -> None:
        # `wandb leet runs` looks for offline runs directly in the folder it is given.
        written, runs = Path(self._run.dir).parent, self.folder.path.parent
        link = runs / written.name
        if not link.exists():
            link.symlink_to(written.resolve().relative_to(runs.resolve()))


def new_identity(run_id: str) -> str:
    """An identity for a run that starts over, so that it never continues the curves of an earlier one."""
    return f"{run_id}-{secrets.token_hex(2)}"
