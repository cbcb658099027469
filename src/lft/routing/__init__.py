"""Schedules and the routings that make them; pure Python, imports nothing else of this package."""

from lft.routing.families import ROUTINGS, make_schedule, routing, routing_options
from lft.routing.schedule import Schedule, Step

__all__ = ["ROUTINGS", "Schedule", "Step", "make_schedule", "routing", "routing_options"]
