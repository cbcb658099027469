"""Feedback routings: segments of the stack run again before the next block follows."""

from lft.errors import RequestError
from lft.routing.registry import check_blocks, routing
from lft.routing.schedule import Schedule


@routing
def lft(
    num_blocks: int, *, revisits: int = 1, span: int = 1, feedback_at: list[int] | None = None
) -> Schedule:
    """Layer-Feedback Transformer: 1 2 1 2 3 2 3 4 3 4 5 for five blocks.

    The blocks run in order; on reaching block k the segment from block k - span to block k runs
    `revisits` more times before block k + 1 follows. The last block receives no feedback. With every
    feedback position in use, E = N + (span + 1) * revisits * (N - 1 - span).

    Args:
        num_blocks: Stored blocks N.
        revisits: Extra runs of each segment; 0 is the standard order.
        span: How many blocks the feedback reaches back.
        feedback_at: The blocks (from 1) that feed back; all from span + 1 to N - 1 when not given.

    Raises:
        RequestError: An option lies outside what N blocks allow.
    """
    return Schedule.from_order(lft_order(num_blocks, revisits, span, feedback_at), num_blocks)


@routing
def mirror(num_blocks: int, *, revisits: int = 1) -> Schedule:
    """LFT backwards and relabelled, so that late blocks are visited more: 1 2 3 2 3 4 3 4 5 4 5."""
    order = lft_order(num_blocks, revisits)
    return Schedule.from_order([num_blocks - 1 - block for block in reversed(order)], num_blocks)


def lft_order(
    num_blocks: int, revisits: int, span: int = 1, feedback_at: list[int] | None = None
) -> list[int]:
    """The block order of LFT, from 0; see `lft`."""
    if revisits < 0:
        raise RequestError(f"routing.revisits={revisits} must be 0 or more")
    # With one or two blocks no feedback is possible, and the default span of 1 stays valid.
    largest = max(1, num_blocks - 2)
    if not 1 <= span <= largest:
        raise RequestError(f"routing.span={span} must be between 1 and {largest} for {num_blocks} blocks")
    positions = range(span + 1, num_blocks)
    if feedback_at is not None:
        check_blocks("routing.feedback_at", feedback_at, positions, "blocks that can feed back:")
    feedback = set(positions if feedback_at is None else feedback_at)
    order: list[int] = []
    for block in range(1, num_blocks + 1):
        order.append(block)
        if block in feedback:
            order.extend(list(range(block - span, block + 1)) * revisits)
    return [block - 1 for block in order]
