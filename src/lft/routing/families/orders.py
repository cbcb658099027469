"""Plain orders: the standard one, a random one, and the user's own."""

import random
from collections import Counter

from lft.errors import RequestError
from lft.routing.families.feedback import lft_order
from lft.routing.registry import routing
from lft.routing.schedule import Schedule


@routing
def standard(num_blocks: int) -> Schedule:
    """Every block once, in order: 1 2 3 4 5."""
    return Schedule.from_order(range(num_blocks), num_blocks)


@routing
def explicit(num_blocks: int, *, order: list[int]) -> Schedule:
    """An order written out, blocks counted from 1.

    Args:
        num_blocks: Stored blocks N.
        order: The blocks in the order of execution; each stored block at least once.

    Raises:
        RequestError: The order is empty, skips a stored block, or names one that is not stored.
    """
    if not order:
        raise RequestError(f"routing.order is empty; name the blocks 1 to {num_blocks} in their order")
    return Schedule.from_order([block - 1 for block in order], num_blocks)


@routing
def shuffle(num_blocks: int, *, shuffle_seed: int = 0, revisits: int = 1) -> Schedule:
    """LFT's visits in random order, such as 1 2 1 3 2 3 4 3 2 4 5.

    Drawn uniformly from all orders with LFT's visit map in which the first visits come in order and the
    last block ends the route.

    Args:
        num_blocks: Stored blocks N.
        shuffle_seed: Chooses the order; apart from the run's seed, so that several seeds train one order.
        revisits: Of the LFT whose visits are shuffled.
    """
    visits = Counter(lft_order(num_blocks, revisits))
    generator = random.Random(shuffle_seed)
    order: list[int] = []
    # From the deepest block up: its first visit goes in front of all deeper ones, the others anywhere.
    for block in reversed(range(num_blocks - 1)):
        order = [block, *_mixed(order, [block] * (visits[block] - 1), generator)]
    return Schedule.from_order([*order, num_blocks - 1], num_blocks)


def _mixed(order: list[int], added: list[int], generator: random.Random) -> list[int]:
    # Only random() is promised to give the same numbers in every Python version.
    size = len(order) + len(added)
    places = set(sorted(range(size), key=lambda _: generator.random())[: len(added)])
    kept, new = iter(order), iter(added)
    return [next(new) if place in places else next(kept) for place in range(size)]
