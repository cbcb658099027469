"""What training takes, without validation and checkpoints: time and energy."""

import time

import lightning
import torch

from lft.meters import EnergyMeter


class TrainingClock:
    """Counts the time and tokens of training, without validation and checkpoints.

    The rate leaves out the first step after a start, which compiles and fills caches.
    """

    def __init__(self) -> None:
        self._rated_seconds = 0.0
        self._rated_tokens = 0
        self._steps = 0
        self._marked = (0.0, 0)
        self._resumed = time.perf_counter()

    def resume(self) -> None:
        """Leave out the time since the last step."""
        self._resumed = time.perf_counter()

    def step(self, tokens: int) -> float:
        """Book an optimizer step of so many tokens; the seconds it took."""
        now = time.perf_counter()
        seconds, self._resumed = now - self._resumed, now
        self._steps += 1
        if self._steps > 1:
            self._rated_seconds += seconds
            self._rated_tokens += tokens
        return seconds

    @property
    def tokens_per_second(self) -> float | None:
        """Rate of this start, without its first step; None when there was no other."""
        return self._rated_tokens / self._rated_seconds if self._rated_seconds else None

    def recent_tokens_per_second(self) -> float | None:
        """The same since the last call of this."""
        seconds, tokens = self._rated_seconds - self._marked[0], self._rated_tokens - self._marked[1]
        self._marked = (self._rated_seconds, self._rated_tokens)
        return tokens / seconds if seconds else None


class TrainingEnergy:
    """Counts the energy of training, without validation and checkpoints.

    Args:
        meter: Counts joules.
    """

    def __init__(self, meter: EnergyMeter) -> None:
        self.meter = meter
        self._mark = meter.read()
        self._unbooked = 0.0

    def resume(self) -> None:
        """Leave out what was spent since the last step."""
        self._mark = self.meter.read()

    def step(self) -> None:
        """Count what was spent since the last step."""
        now = self.meter.read()
        self._unbooked += now - self._mark
        self._mark = now

    def book(self, trainer: lightning.Trainer) -> float:
        """The joules since the last call of this, over all devices."""
        joules, self._unbooked = self._unbooked, 0.0
        over = "sum" if self.meter.per_device else "mean"
        # Not every device has float64, and a booking is small.
        spent = torch.tensor(joules, dtype=torch.float32, device=trainer.strategy.root_device)
        return float(trainer.strategy.reduce(spent, reduce_op=over))
