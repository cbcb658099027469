"""Routings that repeat whole stretches of the stack, or single blocks in place."""

from collections import Counter
from typing import Any

from lft.errors import RequestError
from lft.routing.families.feedback import lft_order
from lft.routing.registry import routing
from lft.routing.schedule import Schedule


@routing
def loop(
    num_blocks: int, *, prelude: int = 1, coda: int = 1, iterations: int | None = None, revisits: int = 1
) -> Schedule:
    """A looped core between a prelude and a coda that run once: 1 2 3 4 2 3 4 2 3 4 5.

    With a prelude and a coda of one block and 2 * revisits + 1 iterations it takes exactly as many steps
    as LFT with so many revisits, for every N.

    Args:
        num_blocks: Stored blocks N.
        prelude: Blocks before the core.
        coda: Blocks after the core.
        iterations: Runs of the core; 2 * revisits + 1 when not given.
        revisits: Of the LFT to match.

    Raises:
        RequestError: No core is left, or a number is negative.
    """
    if prelude < 0 or coda < 0:
        raise RequestError(f"routing.prelude={prelude} and routing.coda={coda} must be 0 or more")
    if prelude + coda >= num_blocks:
        raise RequestError(
            f"routing.prelude={prelude} and routing.coda={coda} leave no core of {num_blocks} blocks "
            "to loop; lower one of them"
        )
    runs = 2 * revisits + 1 if iterations is None else iterations
    if runs < 1:
        key = f"revisits={revisits} must be 0" if iterations is None else f"iterations={runs} must be 1"
        raise RequestError(f"routing.{key} or more")
    blocks = list(range(num_blocks))
    core = blocks[prelude : num_blocks - coda]
    return Schedule.from_order(blocks[:prelude] + core * runs + blocks[num_blocks - coda :], num_blocks)


@routing
def repeat(num_blocks: int, *, visits: Any = None, revisits: int = 1) -> Schedule:
    """Every visit of a block directly after the one before: 1 1 2 2 2 3 3 3 4 4 5.

    Args:
        num_blocks: Stored blocks N.
        visits: Visits of each block as a list, or one number for all; LFT's visit map when not given.
        revisits: Of the LFT whose visit map is taken.

    Raises:
        RequestError: `visits` is no such list or number, or leaves a block out.
    """
    if visits is None:
        counts = Counter(lft_order(num_blocks, revisits))
        visits = [counts[block] for block in range(num_blocks)]
    counted = [visits] * num_blocks if type(visits) is int else visits
    whole = isinstance(counted, list) and all(type(count) is int and count >= 1 for count in counted)
    if not whole or len(counted) != num_blocks:
        raise RequestError(
            f"routing.visits={visits} must be one number, or a list of {num_blocks}, each 1 or more"
        )
    order = [block for block, count in enumerate(counted) for _ in range(count)]
    return Schedule.from_order(order, num_blocks)


@routing
def cycle(num_blocks: int, *, revisits: int = 1) -> Schedule:
    """The whole stack over and over, ending with the last block: 5 1 2 3 4 5 1 2 3 4 5.

    A Universal Transformer (Dehghani et al., arXiv 1807.03819) of N layers, started late enough to take as
    many steps as LFT.
    """
    num_steps = len(lft_order(num_blocks, revisits))
    return Schedule.from_order([(index - num_steps) % num_blocks for index in range(num_steps)], num_blocks)


@routing
def palindrome(num_blocks: int, *, turn: int = 2) -> Schedule:
    """Forward, back, and forward again: 1 2 3 4 5 4 3 2 3 4 5.

    E = N + 2 * (N - turn). Turning at block 2 takes as many steps as LFT for every N; turning at block 1
    runs the whole stack back.

    Args:
        num_blocks: Stored blocks N.
        turn: The block (from 1) at which the way back ends.

    Raises:
        RequestError: There is no such block.
    """
    # A single block has no way back, and the default turn stays valid.
    if not 1 <= turn <= max(2, num_blocks):
        raise RequestError(f"routing.turn={turn} must be between 1 and {num_blocks}")
    blocks = list(range(num_blocks))
    back = blocks[turn - 1 : -1][::-1]
    return Schedule.from_order([*blocks, *back, *blocks[turn:]], num_blocks)
