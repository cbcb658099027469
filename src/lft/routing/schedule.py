"""The schedule: which stored block runs at each step of a forward pass."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

from lft.errors import RequestError


class Step(NamedTuple):
    """One execution of a block, addressed by the block and the count of its earlier executions (from 0)."""

    block: int
    visit: int


@dataclass(frozen=True)
class Schedule:
    """The ordered steps of one forward pass over `num_blocks` stored blocks.

    Attributes:
        num_blocks: Stored blocks N, the parameter depth.
        steps: Block executions in order; their number E is the execution depth.
    """

    num_blocks: int
    steps: tuple[Step, ...]

    @classmethod
    def from_order(cls, order: Iterable[int], num_blocks: int) -> Self:
        """Number the visits of a block order.

        Args:
            order: Block indices from 0, in the order of execution.
            num_blocks: Stored blocks; each must be executed at least once.

        Raises:
            RequestError: The order names a block that is not stored or leaves a stored one out.
        """
        order = tuple(order)
        unknown = sorted({block + 1 for block in order if not 0 <= block < num_blocks})
        if unknown:
            raise RequestError(f"the order runs block {unknown[0]}, but the blocks are 1 to {num_blocks}")
        missing = sorted(set(range(num_blocks)) - set(order))
        if missing:
            raise RequestError(f"the order never runs block {missing[0] + 1}; every stored block must run")
        visits: Counter[int] = Counter()
        steps = []
        for block in order:
            steps.append(Step(block, visits[block]))
            visits[block] += 1
        return cls(num_blocks, tuple(steps))

    @property
    def num_steps(self) -> int:
        """Block executions E per forward pass."""
        return len(self.steps)

    @property
    def visit_map(self) -> list[int]:
        """Visits of each stored block, for LFT-5 [2, 3, 3, 2, 1]."""
        counts = Counter(step.block for step in self.steps)
        return [counts[block] for block in range(self.num_blocks)]

    @property
    def block_order(self) -> list[int]:
        """The executed blocks in order, counted from 1 as people read them."""
        return [step.block + 1 for step in self.steps]
