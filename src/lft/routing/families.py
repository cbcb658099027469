"""The routings: each a pure function from the number of stored blocks and its options to a schedule.

A function decorated with `routing` is an option of the Hydra group `routing` by its own name; its
keyword options are the keys of that group, typed by their annotations. The rest of an option is its
YAML file in `conf/routing/`.
"""

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from lft.errors import RequestError
from lft.routing.schedule import Schedule

Routing = Callable[..., Schedule]
ROUTINGS: dict[str, Routing] = {}


def routing(function: Routing) -> Routing:
    """Register a function as a routing under its own name."""
    ROUTINGS[function.__name__] = function
    return function


def routing_options(name: str) -> dict[str, tuple[Any, Any]]:
    """The options of a routing as `{key: (type, default)}`, read off its signature."""
    function = ROUTINGS[name]
    types = get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return {parameter.name: (types[parameter.name], parameter.default) for parameter in parameters}


def make_schedule(name: str, num_blocks: int, **options: Any) -> Schedule:
    """Build the schedule of a routing.

    Args:
        name: A registered routing.
        num_blocks: Stored blocks N, at least 1.
        **options: The routing's own options.

    Raises:
        RequestError: The routing is unknown, or an option makes no schedule for this N.
    """
    if name not in ROUTINGS:
        raise RequestError(f"unknown routing '{name}'; choose one of {', '.join(sorted(ROUTINGS))}")
    return ROUTINGS[name](num_blocks, **options)


@routing
def standard(num_blocks: int) -> Schedule:
    """Every block once, in order: 1 2 3 4 5."""
    return Schedule.from_order(range(num_blocks), num_blocks)


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
    if revisits < 0:
        raise RequestError(f"routing.revisits={revisits} must be 0 or more")
    _check_span(span, num_blocks)
    positions = range(span + 1, num_blocks)
    feedback = set(positions if feedback_at is None else _checked_positions(feedback_at, positions))
    order: list[int] = []
    for block in range(1, num_blocks + 1):
        order.append(block)
        if block in feedback:
            order.extend(list(range(block - span, block + 1)) * revisits)
    return Schedule.from_order([block - 1 for block in order], num_blocks)


def _check_span(span: int, num_blocks: int) -> None:
    # With one or two blocks no feedback is possible, and the default span of 1 stays valid.
    largest = max(1, num_blocks - 2)
    if not 1 <= span <= largest:
        raise RequestError(f"routing.span={span} must be between 1 and {largest} for {num_blocks} blocks")


def _checked_positions(feedback_at: list[int], positions: range) -> list[int]:
    if len(set(feedback_at)) < len(feedback_at):
        raise RequestError(f"routing.feedback_at={feedback_at} names a block twice; name each once")
    for block in feedback_at:
        if block not in positions:
            allowed = f"{positions.start} to {positions.stop - 1}" if positions else "none"
            raise RequestError(
                f"routing.feedback_at names block {block}; blocks that can feed back: {allowed}"
            )
    return feedback_at
