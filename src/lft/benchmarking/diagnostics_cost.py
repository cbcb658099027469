"""What measuring the visits costs, beside the training between two measurements."""

import ctypes
import gc
from collections.abc import Callable
from dataclasses import replace

import lightning
import numpy as np
import psutil
import torch

from lft.benchmarking.turns import LoopTurns, bare_step, timed
from lft.config import TrainConfig
from lft.training import LanguageModel, VisitDiagnostics, train
from lft.training.hardware import peak_memory_bytes, reset_peak_memory

# The study's budget, whose share diagnostics take of a run is told.
STUDY_TOKENS, STUDY_MILESTONES = 500_000_000, 10


def measure_diagnostics_cost(config: TrainConfig) -> list[str]:
    """Train for real, and after every optimizer step take a probe; then once what milestones take.

    Returns:
        Lines for a person: the time of everything that is measured over a run of the study's budget, as a
        share of training time, and the memory that a probe and a training step take.
    """
    turns = ProbeTurns()
    # Over whatever another measurement with this config has left.
    train(replace(config, force=True), extra_callbacks=[turns])
    return turns.report()


class ProbeTurns(LoopTurns):
    """Takes a probe after each step of the loop; at the end, a milestone and the memory of each."""

    def __init__(self) -> None:
        super().__init__()
        self.milestone_seconds = 0.0
        self.memory: dict[str, int] = {}
        self._probes = self._steps = 0.0

    def take_turn(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """Probe, and keep the readings."""
        diagnostics = _diagnostics(trainer)
        diagnostics.record(trainer, module, diagnostics.probe(trainer, module))

    def conclude(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """Do what milestones do, and measure memory."""
        diagnostics = _diagnostics(trainer)
        self._steps = STUDY_TOKENS / module.plan.tokens_per_step
        self._probes = STUDY_TOKENS // diagnostics.config.every_tokens + 1
        self.milestone_seconds = timed(lambda: _milestone(diagnostics, trainer, module))
        actions: dict[str, Callable[[], object]] = {
            "training step": lambda: bare_step(trainer, module, self.batch),
            "probe": lambda: diagnostics.probe(trainer, module),
            "knock-outs": lambda: diagnostics.knock_out(trainer, module),
        }
        self.memory = {name: _memory_of(action, module.device) for name, action in actions.items()}

    def report(self) -> list[str]:
        """The lines for a person."""
        steps, probes = np.array(self.loop_seconds), np.array(self.other_seconds)
        of_probes = probes * self._probes / (steps * self._steps)
        of_milestones = self.milestone_seconds * STUDY_MILESTONES / (steps * self._steps)
        low, middle, high = np.quantile(of_probes + of_milestones, (0.25, 0.5, 0.75))
        memory = ", ".join(f"{name} {size / 1e6:,.0f} MB" for name, size in self.memory.items())
        return [
            f"diagnostics' share of training {STUDY_TOKENS / 1e6:.0f}M tokens: {middle:.2%} "
            f"(quartiles {low:.2%} to {high:.2%}, {len(steps)} turns; {self._probes:.0f} probes of "
            f"{np.median(probes):.2f} s and {STUDY_MILESTONES} milestones of {self.milestone_seconds:.2f} s "
            f"beside {self._steps:,.0f} steps of {np.median(steps):.2f} s)",
            f"memory above model and optimizer: {memory}",
        ]


def _milestone(diagnostics: VisitDiagnostics, trainer: lightning.Trainer, module: LanguageModel) -> None:
    diagnostics.record(trainer, module, diagnostics.knock_out(trainer, module))
    diagnostics.draw(trainer, module)


def _diagnostics(trainer: lightning.Trainer) -> VisitDiagnostics:
    callbacks = trainer.callbacks  # type: ignore[attr-defined]
    return next(each for each in callbacks if isinstance(each, VisitDiagnostics))


def _memory_of(action: Callable[[], object], device: torch.device) -> int:
    """Bytes that an action takes at its peak beyond what is held before it."""
    gc.collect()
    if device.type == "cuda":
        before = torch.cuda.memory_allocated(device)
    else:
        _give_back_freed_memory()
        before = psutil.Process().memory_info().rss
    reset_peak_memory(device)
    action()
    return peak_memory_bytes(device) - before


def _give_back_freed_memory() -> None:
    # The C library keeps freed memory for itself, where it would hide what the next action takes.
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):
        return
