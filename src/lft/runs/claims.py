"""Claims that are written down before their runs are looked at."""

import math
from dataclasses import dataclass

from lft.errors import RequestError

# Numbers of `summary.json` in which arms may differ.
METRICS = (
    *("val_loss", "val_bits_per_byte", "seconds", "tokens_per_second", "train_flops"),
    *("peak_memory_bytes", "joules"),
)


@dataclass(kw_only=True)
class Claim:
    """That an arm beats a baseline, when everything else is equal, by an effect worth having.

    Raises:
        RequestError: The metric is unknown, a number is out of its range, or the arm is compared with itself.
    """

    statement: str
    """The claim in words."""
    arm: str
    """The arm, as tables of runs name it, such as `lft` or `lft revisits=2`."""
    baseline: str = "standard"
    """The arm that it is compared with."""
    metric: str = "val_loss"
    """What is compared: a number of `summary.json`, one of `METRICS`."""
    better: str = "lower"
    """Which way is better: lower or higher."""
    smallest_effect: float
    """The smallest difference that anyone would care about, in the metric's unit."""
    seeds: int
    """Pairs that decide; before there are as many, nothing is decided."""

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise RequestError(f"the claim that {self.arm} beats {self.baseline}: {problem}")

    def _problem(self) -> str:
        if self.better not in ("lower", "higher"):
            return f"better={self.better} must be lower or higher"
        if self.metric not in METRICS:
            return f"metric={self.metric} must be one of {', '.join(METRICS)}"
        if not isinstance(self.smallest_effect, int | float) or not isinstance(self.seeds, int):
            return "smallest_effect and seeds must be numbers"
        if not (math.isfinite(self.smallest_effect) and self.smallest_effect > 0):
            return f"smallest_effect={self.smallest_effect} must be above 0"
        if self.seeds < 2:
            return f"seeds={self.seeds} must be 2 or more; one seed has no interval"
        return "an arm cannot beat itself; name another arm or baseline" if self.arm == self.baseline else ""
