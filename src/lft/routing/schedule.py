"""The schedule: which stored block runs at each step of a forward pass."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

from lft.errors import RequestError


class Step(NamedTuple):
    """One execution of a block, addressed by the block and the count of its earlier executions (from 0)."""

    block: int
    visit: int

    @property
    def name(self) -> str:
        """How logs and parameters call it, counted from 1: `b03_v1` is the first visit of the third block."""
        return f"b{self.block + 1:02d}_v{self.visit + 1}"


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

    def untied(self, shared: Collection[int] = ()) -> Self:
        """The same execution depth with more stored blocks: every visit gets weights of its own.

        Stored blocks are numbered in the order of their first execution, so that with nothing shared the
        plain stack 1 2 3 ... E remains. A schedule without anything to untie is returned as it is.

        Args:
            shared: Blocks (from 0) that keep one set of weights over all their visits.
        """
        if all(step.visit == 0 or step.block in shared for step in self.steps):
            return self
        weights = [step._replace(visit=0) if step.block in shared else step for step in self.steps]
        numbers = {owner: number for number, owner in enumerate(dict.fromkeys(weights))}
        return self.from_order([numbers[owner] for owner in weights], len(numbers))

    def without_revisits(self) -> Self:
        """The first visits alone, in their order: the standard order for every routing that meets them so."""
        return type(self)(self.num_blocks, tuple(step for step in self.steps if step.visit == 0))

    def detached(self, gradient: str) -> frozenset[Step]:
        """The steps that give their block no gradient when only some visits of a block shall.

        Args:
            gradient: Which visits train their block: `all`, or the `first` or the `last` alone.
        """
        if gradient == "all":
            return frozenset()
        visits = self.visit_map
        return frozenset(
            step
            for step in self.steps
            if step.visit != (0 if gradient == "first" else visits[step.block] - 1)
        )

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
