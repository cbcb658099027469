"""One number that a diagnostic reads off a model, and where in the route it belongs."""

from typing import NamedTuple

from lft.routing import Step


class Reading(NamedTuple):
    """A value of a statistic; blocks, visits and steps count from 1, as people read them.

    Attributes:
        block: The block; None for what concerns the whole route.
        visit: The visit of the block; None for what concerns the whole block.
        step: The place of the visit in the schedule; 0 is before the first step.
        part: `attention`, `mlp` or `norms` of the block, the whole `block`, or the route that was run.
        statistic: What was measured.
        value: The number.
    """

    block: int | None
    visit: int | None
    step: int | None
    part: str
    statistic: str
    value: float

    @property
    def address(self) -> str | None:
        """The name of the step or block, such as `b03_v1` or `b03`; None for a whole route."""
        if self.block is None:
            return None
        return f"b{self.block:02d}" if self.visit is None else Step(self.block - 1, self.visit - 1).name

    @classmethod
    def of_step(cls, number: int, step: Step, statistic: str, value: float, part: str = "block") -> "Reading":
        """A reading of a step, which has this place in the schedule (from 1)."""
        return cls(step.block + 1, step.visit + 1, number, part, statistic, value)

    @classmethod
    def of_block(cls, block: int, statistic: str, value: float, part: str = "block") -> "Reading":
        """A reading of a block (from 0) over all its visits."""
        return cls(block + 1, None, None, part, statistic, value)

    @classmethod
    def of_route(cls, statistic: str, value: float, route: str) -> "Reading":
        """A reading of a whole route."""
        return cls(None, None, None, route, statistic, value)
