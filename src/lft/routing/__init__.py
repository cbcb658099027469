"""Schedules and the routings that make them; pure Python, imports nothing else of this package."""

# Importing the families registers their routings.
from lft.routing import families
from lft.routing.registry import (
    ROUTINGS,
    Routing,
    Twin,
    find_plain_routing,
    find_routing,
    make_schedule,
    routing,
)
from lft.routing.schedule import Schedule, Step

__all__ = [
    "ROUTINGS",
    "Routing",
    "Schedule",
    "Step",
    "Twin",
    "families",
    "find_plain_routing",
    "find_routing",
    "make_schedule",
    "routing",
]
