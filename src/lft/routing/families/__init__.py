"""The routings: each a pure function from the number of blocks and its options to a schedule.

`revisits` means the same in all of them: the routing takes as many steps as LFT with that many revisits,
so that a sweep over routings and revisits compares equal numbers of steps.
"""

from lft.routing.families import feedback, loops, orders, twins

__all__ = ["feedback", "loops", "orders", "twins"]
