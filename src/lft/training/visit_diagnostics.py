"""Measures every visit while a run trains: probes at an interval of tokens, knock-outs at milestones."""

import time
from collections.abc import Mapping
from functools import partial

import lightning
import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.optim import AdamW

from lft.analysis import save_pictures
from lft.config import DiagnosticsConfig
from lft.data import PackedSequences
from lft.diagnostics import (
    Reading,
    activation_readings,
    gradient_readings,
    knockout_readings,
    visit_gradients,
)
from lft.routing import Schedule
from lft.runs import RunFolder, VisitsFile
from lft.training.callbacks import StepCallback, check_finite, spent
from lft.training.language_model import LanguageModel
from lft.training.messages import say
from lft.training.metrics_file import MetricsFile
from lft.training.optimizer import adamw_scale
from lft.training.weights_and_biases import WeightsAndBiases

# What charts show, of whole blocks; parts and pairs of visits are in the file only.
CHARTED = frozenset(
    "gradient_norm gradient_share gradient_sum_cosine gradient_cancellation adamw_share residual_rms "
    "update_ratio update_previous_cosine input_output_cosine attention_entropy readout_loss "
    "skip_difference".split()
)

# Sequences at once: few enough that all their residual streams take less memory than training.
KNOCKOUT_BATCH = 8
DRAW_SECONDS = 60.0


class VisitDiagnostics(StepCallback):
    """Writes `visits.parquet` and pictures into the run folder, and shows both to the loggers.

    Everything is computed uncompiled and without a random number, so that training goes on as if nothing
    had happened; with several devices the first one measures.

    Args:
        config: What to measure, and how often.
        held_out: Sequences to measure on, of which evenly spaced ones are taken.
        routes: Other routes that the model is run along at milestones.
        folder: The run folder.
        micro_batch_sequences: Most sequences that training works on at once; measuring takes fewer.
    """

    def __init__(
        self,
        config: DiagnosticsConfig,
        held_out: PackedSequences,
        routes: Mapping[str, Schedule],
        folder: RunFolder,
        micro_batch_sequences: int,
    ) -> None:
        super().__init__()
        self.config = config
        self.routes = routes
        self.folder = folder
        self.file = VisitsFile(folder.visits)
        self.probe_batch = evenly_spaced(held_out, config.probe_sequences)
        self.knockout_batch = evenly_spaced(held_out, config.knockout_sequences)
        # Below what training holds, also where that is in half precision.
        self.probe_batch_sequences = max(1, micro_batch_sequences // 2)
        self.knockout_batch_sequences = min(KNOCKOUT_BATCH, micro_batch_sequences)
        self._drawn = time.perf_counter()

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        """Probe the initial weights."""
        super().on_train_start(trainer, module)
        assert isinstance(module, LanguageModel)
        if trainer.is_global_zero and trainer.global_step == 0:
            module.model.schedule = module.plan.schedule_at(0)
            self.record(trainer, module, self.probe(trainer, module))

    def after_step(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """Measure what is due."""
        if not trainer.is_global_zero:
            return
        is_milestone = trainer.global_step in module.plan.milestones
        readings = self.probe(trainer, module) if self._due(trainer, module) else []
        if is_milestone and len(self.knockout_batch):
            readings += self.knock_out(trainer, module)
        if readings:
            self.record(trainer, module, readings)
        if trainer.global_step == module.plan.steps or (
            is_milestone and time.perf_counter() - self._drawn > DRAW_SECONDS
        ):
            self.draw(trainer, module)

    def _due(self, trainer: lightning.Trainer, module: LanguageModel) -> bool:
        every, tokens = self.config.every_tokens, module.tokens_seen
        passed = tokens // every > (tokens - module.plan.tokens_per_step) // every
        return passed or trainer.global_step == module.plan.steps

    def probe(self, trainer: lightning.Trainer, module: LanguageModel) -> list[Reading]:
        """Gradients and activations of every visit, in the precision of the weights."""
        batch = self.probe_batch.to(module.device)
        inputs, targets = batch[:, :-1], batch[:, 1:]
        optimizer = trainer.optimizers[0]
        assert isinstance(optimizer, AdamW)
        with torch.compiler.set_stance("force_eager"):
            gradients = visit_gradients(module.model, inputs, targets, self.probe_batch_sequences)
            readings = gradient_readings(module.model, gradients)
            # Before its first step the optimizer has no metric.
            if optimizer.state:
                readings += gradient_readings(
                    module.model, gradients, "adamw", partial(adamw_scale, optimizer)
                )
            # Before the activations are made, so that both are never held at once.
            del gradients
            return readings + activation_readings(module.model, inputs, targets, self.probe_batch_sequences)

    def knock_out(self, trainer: lightning.Trainer, module: LanguageModel) -> list[Reading]:
        """Losses along other routes, in the precision of validation."""
        # Before a late start of feedback, one of them is the present route.
        routes = {name: route for name, route in self.routes.items() if route != module.model.schedule}
        with torch.compiler.set_stance("force_eager"), trainer.precision_plugin.val_step_context():
            return knockout_readings(
                module.model,
                self.knockout_batch.to(module.device),
                routes,
                self.knockout_batch_sequences,
            )

    def record(self, trainer: lightning.Trainer, module: LanguageModel, readings: list[Reading]) -> None:
        """Write readings to the file and show them to the loggers.

        Raises:
            FloatingPointError: They show that the run has diverged.
        """
        self.file.add(module.tokens_seen, [reading._asdict() for reading in readings])
        row = {**spent(trainer, module), **charted(readings)}
        for logger in trainer.loggers:
            # The record of visits is the file just written.
            if not isinstance(logger, MetricsFile):
                logger.log_metrics(row, step=trainer.global_step)
        for reading in readings:
            if reading.statistic in ("readout_loss", "gradient_norm"):
                check_finite(trainer, f"{reading.statistic} of a probe", reading.value)

    def on_exception(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, exception: BaseException
    ) -> None:
        """Draw what a run that breaks off has measured."""
        if trainer.is_global_zero and isinstance(exception, Exception) and self.folder.visits.exists():
            assert isinstance(module, LanguageModel)
            self.draw(trainer, module)

    def draw(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """Write pictures of all readings so far, and show them to W&B."""
        self._drawn = time.perf_counter()
        try:
            pictures = save_pictures(self.folder)
        # Pictures are a view of the record: no run is lost over them.
        except Exception as error:
            say(f"the pictures of {self.folder.path} were not drawn: {error}")
            return
        for logger in trainer.loggers:
            if isinstance(logger, WeightsAndBiases):
                logger.log_pictures(pictures, spent(trainer, module), trainer.global_step)


def evenly_spaced(sequences: PackedSequences, count: int) -> Int[Tensor, "count time_and_one"]:
    """So many sequences from all over a text, or all there are."""
    count = min(count, len(sequences))
    indices = np.linspace(0, len(sequences), count, endpoint=False).astype(np.int64)
    if not count:
        return torch.empty((0, sequences.context_length + 1), dtype=torch.int64)
    return torch.from_numpy(sequences.batch(indices))


def charted(readings: list[Reading]) -> dict[str, float]:
    """The readings that charts show.

    They are called `visit/bBB_vV/<statistic>`, `visit/bBB/<statistic>` of a block over all its visits, and
    `visit/routes/<route>/<statistic>`.
    """
    charts = {}
    for reading in readings:
        if reading.part == "block" and reading.address and reading.statistic in CHARTED:
            charts[f"visit/{reading.address}/{reading.statistic}"] = reading.value
        elif reading.statistic == "route_difference":
            charts[f"visit/routes/{reading.part}/{reading.statistic}"] = reading.value
    return charts
