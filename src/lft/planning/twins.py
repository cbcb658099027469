"""Twins: models that cost the same as another by their width."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lft.costs import ModelShape, count_costs
from lft.errors import RequestError

CLOSE_ENOUGH = 0.005
# A tenth of a percent of mismatch weighs as much as proportions changed by two percent.
MISMATCH_WEIGHT = 20.0
MULTIPLE = 8


@dataclass(frozen=True)
class TwinMatch:
    """How well a twin meets its promise.

    Attributes:
        quantity: `parameters`, or `flops` per token of a forward pass.
        of: The routing whose cost is met.
        target: That routing's cost at the scale's own width.
        actual: The twin's.
    """

    quantity: str
    of: str
    target: int
    actual: int

    @property
    def mismatch(self) -> float:
        """Relative difference of the twin from its target."""
        return self.actual / self.target - 1


def quantity_of(shape: ModelShape, num_steps: int, quantity: str) -> int:
    """Parameters, or forward FLOPs per token, of a shape and a number of steps."""
    costs = count_costs(shape, num_steps)
    return costs.parameters if quantity == "parameters" else costs.forward_flops_per_token


def fit_width(shape: ModelShape, num_steps: int, quantity: str, target: int) -> ModelShape:
    """The shape of another width whose parameters or FLOPs come to a target.

    Width and feed-forward width are multiples of 8. Of all widths that come within half a percent, the one
    is taken whose proportions (feed-forward to width, and head size) and whose mismatch are least.

    Args:
        shape: The shape to widen or narrow; it is returned as it is when it meets the target.
        num_steps: Block executions E.
        quantity: `parameters`, or `flops` per token of a forward pass.
        target: What the quantity shall be.

    Raises:
        RequestError: No width comes near.
    """
    if quantity_of(shape, num_steps, quantity) == target:
        return shape
    candidates = list(_candidates(shape, num_steps, quantity, target))
    if not candidates:
        raise RequestError(
            f"no width of this scale brings {num_steps} steps to {target:,} {quantity}; choose a larger scale"
        )

    def mismatch(candidate: ModelShape) -> float:
        return abs(quantity_of(candidate, num_steps, quantity) / target - 1)

    close = [candidate for candidate in candidates if mismatch(candidate) <= CLOSE_ENOUGH] or candidates
    return min(
        close, key=lambda candidate: _distortion(candidate, shape) + MISMATCH_WEIGHT * mismatch(candidate)
    )


def _candidates(shape: ModelShape, num_steps: int, quantity: str, target: int) -> Iterator[ModelShape]:
    for d_model in range(MULTIPLE, 8 * shape.d_model, MULTIPLE):
        num_heads = _heads(d_model, shape)
        if num_heads is None:
            continue
        group = shape.num_heads // shape.num_kv_heads
        narrow = replace(
            shape, d_model=d_model, num_heads=num_heads, num_kv_heads=num_heads // group, d_ff=MULTIPLE
        )
        # The quantity is linear in the feed-forward width.
        least = quantity_of(narrow, num_steps, quantity)
        slope = quantity_of(replace(narrow, d_ff=2 * MULTIPLE), num_steps, quantity) - least
        units = 1 + round((target - least) / slope)
        if units >= 1:
            yield replace(narrow, d_ff=units * MULTIPLE)


def _heads(d_model: int, shape: ModelShape) -> int | None:
    """The number of heads whose even size is nearest the shape's, in whole groups of its key heads."""
    group = shape.num_heads // shape.num_kv_heads
    possible = [
        heads
        for heads in range(group, d_model // 2 + 1, group)
        if d_model % heads == 0 and d_model // heads % 2 == 0
    ]
    return min(possible, key=lambda heads: abs(math.log(d_model / heads / shape.head_size)), default=None)


def _distortion(candidate: ModelShape, shape: ModelShape) -> float:
    proportions = (candidate.d_ff / candidate.d_model) / (shape.d_ff / shape.d_model)
    return abs(math.log(proportions)) + abs(math.log(candidate.head_size / shape.head_size))
