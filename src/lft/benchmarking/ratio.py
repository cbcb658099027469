"""A speed claim: the ratio of two timings taken in turn, with its spread."""

from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True)
class Ratio:
    """Timings of two ways, taken in turn.

    Attributes:
        name: What is compared.
        ours: Seconds of each of our turns.
        theirs: Seconds of the turn beside it.
    """

    name: str
    ours: list[float]
    theirs: list[float]

    @classmethod
    def of_turns(cls, name: str, turns: list[tuple[float, float]]) -> Self:
        """From our seconds and theirs of each turn."""
        return cls(name, [ours for ours, _ in turns], [theirs for _, theirs in turns])

    def __str__(self) -> str:
        ratios = np.array(self.theirs) / np.array(self.ours)
        low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
        return (
            f"{self.name}: {middle:.3f} (quartiles {low:.3f} to {high:.3f}, {len(ratios)} turns; "
            f"median {np.median(self.ours):.3f} s beside {np.median(self.theirs):.3f} s)"
        )
