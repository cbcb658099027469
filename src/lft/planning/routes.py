"""Other routes that a trained model can be run along, over the blocks it has."""

from typing import Any

from lft.config import TrainConfig, routing_keywords
from lft.errors import RequestError
from lft.routing import Schedule, find_routing, make_schedule

# A routing, the blocks it is given, and its options.
Request = tuple[str, int, dict[str, Any]]


def evaluation_routes(config: TrainConfig, trained: Schedule) -> dict[str, Schedule]:
    """The routings of `diagnostics.knockout_routes`, and the trained one with one revisit more and fewer.

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
    """Requests for the trained routing with another number of revisits, where it has that option."""
    name, options = config.routing.name, routing_keywords(config.routing)
    if "revisits" not in find_routing(name).options:
        return {}
    counts = (options["revisits"] - 1, options["revisits"] + 1)
    return {
        f"revisits={count}": (name, config.scale.num_blocks, {**options, "revisits": count})
        for count in counts
    }
