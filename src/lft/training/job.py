"""One training job, from a typed config to `DONE`."""

import shutil
import traceback
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only

from lft.config import TrainConfig, plain_settings
from lft.data import prepare, prepared_folder
from lft.errors import RequestError, RunFailed
from lft.meters import energy_meter
from lft.model import Transformer, initialize
from lft.planning import Plan, check_epochs, evaluation_routes, make_plan
from lft.runs import VALIDATION, RunFolder, RunState, run_id, write_evaluation
from lft.training.assembly import build_callbacks, build_loggers, build_trainer
from lft.training.calibration import settle_match
from lft.training.callbacks import MetricsLogger, Milestones
from lft.training.data_module import TokenDataModule
from lft.training.hardware import (
    peak_flops,
    peak_memory_bytes,
    reset_peak_memory,
    resolve_compile,
)
from lft.training.language_model import LanguageModel
from lft.training.messages import say
from lft.training.metrics_file import MetricsFile
from lft.training.records import run_record, run_summary, validation_record
from lft.training.validation import ValidationResult, ValidationSet
from lft.training.visit_diagnostics import VisitDiagnostics
from lft.training.weights_and_biases import WeightsAndBiases, new_identity


def train(config: TrainConfig, extra_callbacks: list[Callback] | None = None) -> RunFolder:
    """Carry out one run, or say why nothing is left to do.

    Args:
        config: The request.
        extra_callbacks: Further Lightning callbacks, called after the run's own.

    Returns:
        The run folder, holding `DONE`.

    Raises:
        RequestError: The request cannot be carried out; nothing is written.
        RunFailed: Training broke off, now or earlier; the folder holds `FAILED` with the cause.
    """
    settings = plain_settings(config)
    plan = make_plan(config)
    folder = RunFolder(Path(config.paths.runs) / run_id(settings))
    # Lightning starts a process for each further device; those follow the first, which holds the folder.
    leads = getattr(rank_zero_only, "rank", 0) == 0
    with folder.lock() if leads else nullcontext():
        if not leads or _wants_training(folder, config, settings):
            Job(config, settings, plan, folder, extra_callbacks or []).run()
    return folder


def _wants_training(folder: RunFolder, config: TrainConfig, settings: dict[str, Any]) -> bool:
    """Whether there is something to train; says so when there is not."""
    state = RunState.NEW if config.force else folder.state
    if state is not RunState.NEW:
        _check_same_data(folder, config)
    if state is RunState.DONE:
        unmeasured = config.diagnostics.enabled and not folder.visits.exists()
        remark = " (its visits were not measured)" if unmeasured else ""
        say(f"{folder.path} is done{remark}; force=true trains it again")
        stated, wanted = folder.read("config.json").get("claims") or {}, settings["claims"]
        if changed := [name for name, claim in wanted.items() if claim != stated.get(name)]:
            say(f"claims stay as they were before the run; otherwise in this request: {', '.join(changed)}")
    if state is RunState.FAILED and not config.retry:
        raise RunFailed(f"{folder.path} failed before ({folder.failure}); retry=true resumes it")
    return state is not RunState.DONE


def _check_same_data(folder: RunFolder, config: TrainConfig) -> None:
    recorded, root = folder.read("run.json")["data"], Path(config.paths.prepared)
    try:
        if prepared_folder(config.data, root).name == recorded["name"]:
            return
    except RequestError:
        # The text is gone: a finished run does not need it, and one that does will say so.
        return
    # A file may have been copied or touched: its tokens decide.
    if prepare(config.data, root).fingerprint != recorded["fingerprint"]:
        raise RequestError(
            f"the text behind {folder.path} has changed since it was trained; force=true trains it again, "
            "another paths.runs keeps both"
        )


class Job:
    """The parts of a run; all that can refuse the request is built before anything is written."""

    def __init__(
        self,
        config: TrainConfig,
        settings: dict[str, Any],
        plan: Plan,
        folder: RunFolder,
        extra_callbacks: list[Callback],
    ) -> None:
        self.config, self.settings, self.folder = config, settings, folder
        earlier = {} if config.force else folder.read("run.json")
        self.wandb_id = earlier.get("wandb_id") or new_identity(folder.name)
        self.plan = plan = settle_match(config, plan, folder)
        self.loggers = build_loggers(config, settings, plan, folder, self.wandb_id)
        metrics_file = MetricsFile(folder.path / "metrics.jsonl")
        self.trainer = build_trainer(config, plan, [metrics_file, *self.loggers], folder)
        self.device = self.trainer.strategy.root_device
        callbacks = build_callbacks(config)

        data = prepare(config.data, Path(config.paths.prepared))
        self.tokenizer_path = data.tokenizer_path
        self.batches = TokenDataModule(data, plan, config.seed, config.data.loader_workers)
        check_epochs(config, plan.tokens, self.batches.epoch_tokens)
        validation = ValidationSet(data, plan.shape.context_length, plan.micro_batch_sequences)
        model = Transformer(plan.shape, plan.schedule, config.sharing.gradient)
        initialize(model, config.seed, config.sharing.residual_init)
        self.module = LanguageModel(model, config, plan)

        peak = config.peak_flops or peak_flops(self.device, str(self.trainer.precision))
        every = config.trainer["log_every_n_steps"]
        self.metrics = MetricsLogger(peak * self.trainer.world_size, every, energy_meter(self.device))
        self.milestones = Milestones(validation, folder.checkpoints, plan.milestones, self.metrics)
        # Diagnostics come before checkpoints, so that a run resumes behind what it has measured.
        diagnostics = []
        if config.diagnostics.enabled:
            routes = evaluation_routes(config, plan.schedule)
            diagnostics = [
                VisitDiagnostics(
                    config.diagnostics, validation.sequences, routes, folder, plan.micro_batch_sequences
                )
            ]
        self.trainer.callbacks += [  # type: ignore[attr-defined]
            *(self.metrics, *callbacks, *diagnostics, self.milestones, *extra_callbacks)
        ]
        self.record = run_record(plan, data, self.batches.epochs, self.trainer, peak)

    def run(self) -> None:
        """Train to the end and leave `DONE`, or `FAILED` with the cause."""
        try:
            self._open()
            self._fit()
            result = self._validated()
            summary = self._summary(result)
            if self.trainer.is_global_zero:
                self._write_validation(result)
                self.folder.mark_done(summary)
            self._close_wandb(0, summary)
        except (KeyboardInterrupt, SystemExit):
            say(f"stopped; the same command resumes {self.folder.path}")
            self._close_wandb(1)
            # Lightning ends a run that was told to stop with code 0, as if it had reached its end.
            raise SystemExit(1) from None
        except Exception as error:
            if self.trainer.is_global_zero and self.folder.path.exists():
                self.folder.mark_failed(traceback.format_exc())
            self._close_wandb(1)
            raise RunFailed(
                f"{self.folder.path} failed: {self.folder.failure}; the traceback is in its file FAILED"
            ) from error

    def _open(self) -> None:
        if self.trainer.is_global_zero:
            if self.config.force:
                self.folder.clear()
            compiled = {"compile": self._compiles, "wandb_id": self.wandb_id}
            self.folder.create(self.settings, {"run_id": self.folder.name, **compiled, **self.record})
            shutil.copyfile(self.tokenizer_path, self.folder.tokenizer)
        for logger in self.loggers:
            if isinstance(logger, WeightsAndBiases):
                logger.start()
        say(f"{'resuming' if self._resumes else 'training'} {self.folder.path}")
        for line in self.plan.remarks():
            say(f"  {line}")
        if self.batches.epochs > 1:
            say(f"  the text is read {self.batches.epochs:.1f} times, reshuffled for each pass")

    def _fit(self) -> None:
        reset_peak_memory(self.device)
        if self._compiles:
            # A run of a sweep compiles as it would alone, whatever shapes the process has compiled before.
            torch.compiler.reset()
            self.module.model.compile_in_place()
        self.trainer.fit(
            self.module,
            datamodule=self.batches,
            ckpt_path=self.folder.last_checkpoint if self._resumes else None,
            weights_only=True,
        )

    def _validated(self) -> ValidationResult:
        # A run stopped between its last step and its end has no step left that would validate.
        return self.milestones.result or self.milestones.validation.evaluate(self.module)

    def _write_validation(self, result: ValidationResult) -> None:
        write_evaluation(
            self.folder.items(VALIDATION),
            self.module.tokens_seen,
            self.milestones.validation.items(result),
            validation_record(self.folder.name, self.record),
        )

    def _summary(self, result: ValidationResult) -> dict[str, Any]:
        return run_summary(
            self.config,
            self.plan,
            self.module,
            result,
            self.metrics.clock.tokens_per_second,
            peak_memory_bytes(self.device),
        )

    def _close_wandb(self, exit_code: int, summary: dict[str, Any] | None = None) -> None:
        for logger in self.loggers:
            if isinstance(logger, WeightsAndBiases):
                logger.finish(exit_code, summary)

    @property
    def _resumes(self) -> bool:
        return self.folder.last_checkpoint.exists()

    @property
    def _compiles(self) -> bool:
        return resolve_compile(self.config.compile, self.device)
