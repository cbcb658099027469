"""The registry of routings, and how a name and options become a schedule.

A function decorated with `routing` is an option of the Hydra group `routing` by its own name; its
keyword options are the keys of that group, typed by their annotations. The rest of an option is its
YAML file in `conf/routing/`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_type_hints

from lft.errors import RequestError
from lft.routing.schedule import Schedule

Maker = Callable[..., Schedule]


@dataclass(frozen=True)
class Twin:
    """A promise that the model, by its width, costs as much as another routing's at the scale's own width.

    Attributes:
        quantity: What is equal: `parameters`, or `flops` per token of a forward pass, head included.
        of: The routing whose cost is met. Options of the same name are passed on to it.
    """

    quantity: Literal["parameters", "flops"]
    of: str


class Option(NamedTuple):
    """A key of a routing: its type, and its default or that it has none."""

    type: Any
    default: Any
    required: bool


@dataclass(frozen=True)
class Routing:
    """A routing: the function that makes its schedules, and whether its models are twins."""

    make: Maker
    twin: Twin | None

    @property
    def options(self) -> dict[str, Option]:
        """The routing's own options by their keys, read off the function's signature."""
        types = get_type_hints(self.make)
        parameters = list(inspect.signature(self.make).parameters.values())[1:]
        return {
            parameter.name: Option(
                types[parameter.name], parameter.default, parameter.default is inspect.Parameter.empty
            )
            for parameter in parameters
        }


ROUTINGS: dict[str, Routing] = {}


def routing(make: Maker | None = None, *, twin: Twin | None = None) -> Any:
    """Register a function as a routing under its own name."""

    def register(function: Maker) -> Maker:
        ROUTINGS[function.__name__] = Routing(function, twin)
        return function

    return register(make) if make else register


def find_routing(name: str, key: str = "routing") -> Routing:
    """A routing by its name.

    Raises:
        RequestError: There is none; the message names the config key `key` and the routings there are.
    """
    if name not in ROUTINGS:
        known = ", ".join(sorted(ROUTINGS))
        raise RequestError(f"{key}={name} is an unknown routing; choose one of {known}")
    return ROUTINGS[name]


def find_plain_routing(name: str, key: str = "routing") -> Routing:
    """A routing that can run with its default options.

    Raises:
        RequestError: There is none of this name, or it has no default for an option.
    """
    found = find_routing(name, key)
    required = [option for option in found.options if found.options[option].required]
    if required:
        raise RequestError(f"{key}={name} cannot be used: it has no default routing.{required[0]}")
    return found


def make_schedule(name: str, num_blocks: int, *, share: Any = "all", **options: Any) -> Schedule:
    """Build the schedule of a routing.

    Args:
        name: A registered routing.
        num_blocks: Blocks N of the scale, at least 1.
        share: Which blocks keep one set of weights over all their visits: `all`, `none`, or a list of
            blocks (from 1). Every visit of the others gets weights of its own.
        **options: The routing's own options.

    Raises:
        RequestError: The routing is unknown, or an option makes no schedule for this N.
    """
    schedule = find_routing(name).make(num_blocks, **options)
    if share == "all":
        return schedule
    return schedule.untied(_shared_blocks(share, schedule.num_blocks))


def _shared_blocks(share: Any, num_blocks: int) -> set[int]:
    if share == "none":
        return set()
    if not isinstance(share, list) or not all(type(block) is int for block in share):
        raise RequestError(f"routing.share={share} must be all, none or a list of blocks such as [2,3]")
    check_blocks("routing.share", share, range(1, num_blocks + 1), "the blocks are")
    return {block - 1 for block in share}


def check_blocks(key: str, blocks: list[int], allowed: range, meaning: str) -> None:
    """Refuse a list of blocks (from 1) that names one twice, or one that is not allowed.

    Raises:
        RequestError: The message starts with the config key and explains `allowed` by `meaning`.
    """
    if len(set(blocks)) < len(blocks):
        raise RequestError(f"{key}={blocks} names a block twice; name each once")
    for block in blocks:
        if block not in allowed:
            known = f"{allowed.start} to {allowed.stop - 1}" if allowed else "none"
            raise RequestError(f"{key} names block {block}; {meaning} {known}")
