"""Other routes that a trained model can be run along, over the blocks it has."""

from typing import Any

from lft.config import TrainConfig, routing_keywords
from lft.errors import RequestError
from lft.routing import Schedule, make_schedule

# A routing, the blocks it is given, and its options.
Request = tuple[str, int, dict[str, Any]]

# Options that say how often blocks are run again, the more particular first: it overrules the others.
COUNTING_OPTIONS = ("iterations", "visits", "revisits")


def evaluation_routes(config: TrainConfig, trained: Schedule) -> dict[str, Schedule]:
    """The routings of `diagnostics.knockout_routes`, and the trained one with one revisit (or iteration) more
    and fewer.

    Routes equal to the trained one or to an earlier one are left out, as are those that need other blocks
    than the model has or that its number of blocks does not allow.

    Args:
        config: The request.
        trained: The schedule of the model.

    Returns:
        Schedules by what people call them, such as `standard` and `revisits=2`.
    """
    requests: dict[str, Request] = {
        name: (name, trained.num_blocks, {}) for name in config.diagnostics.knockout_routes
    }
    requests |= _neighbours(config)
    routes: dict[str, Schedule] = {}
    for label, (name, num_blocks, options) in requests.items():
        try:
            schedule = make_schedule(name, num_blocks, **options)
        except RequestError:
            continue
        if schedule.num_blocks == trained.num_blocks and schedule not in (trained, *routes.values()):
            routes[label] = schedule
    return routes


def _neighbours(config: TrainConfig) -> dict[str, Request]:
    """Requests for the trained routing with one repetition fewer and more, where an option counts them."""
    name, options = config.routing.name, routing_keywords(config.routing)
    counting = [option for option in COUNTING_OPTIONS if type(options.get(option)) is int]
    if not counting:
        return {}
    option = counting[0]
    return {
        f"{option}={count}": (name, config.scale.num_blocks, {**options, option: count})
        for count in (options[option] - 1, options[option] + 1)
    }
