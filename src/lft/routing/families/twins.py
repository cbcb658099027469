"""Routings of models with other weights: the untied anchor, and twins that cost the same by their width."""

from lft.routing.families.feedback import lft, lft_order
from lft.routing.families.orders import standard
from lft.routing.registry import Twin, routing
from lft.routing.schedule import Schedule


@routing
def deep(num_blocks: int, *, revisits: int = 1) -> Schedule:
    """The anchor: LFT with weights of its own for every step, so 3N - 4 stored blocks that run once."""
    return lft(num_blocks, revisits=revisits).untied()


@routing(twin=Twin("parameters", of="standard"))
def thin_deep(num_blocks: int, *, revisits: int = 1) -> Schedule:
    """The anchor's depth in a model made so narrow that it has the parameters of the standard one."""
    return deep(num_blocks, revisits=revisits)


@routing(twin=Twin("flops", of="lft"))
def wide(num_blocks: int, *, revisits: int = 1) -> Schedule:
    """The standard order in a model made so wide that a token costs the FLOPs of LFT with these revisits."""
    return standard(num_blocks)


@routing(twin=Twin("flops", of="standard"))
def shrunk(num_blocks: int, *, revisits: int = 1) -> Schedule:
    """LFT over fewer blocks, so that a token costs the FLOPs of the standard model: LFT-4 for 8 blocks.

    Takes the number of blocks whose steps come nearest to N. Where they are N exactly (N = 5, 8, 11, 14
    with one revisit) the width stays the scale's; elsewhere it makes up for the difference.
    """
    candidates = range(1, num_blocks + 1)
    blocks = min(candidates, key=lambda count: (abs(len(lft_order(count, revisits)) - num_blocks), -count))
    return lft(blocks, revisits=revisits)
