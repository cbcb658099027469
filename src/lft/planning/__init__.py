"""From a config to what a run will do and cost; no torch, no weights, no data."""

from lft.planning.plan import Plan, make_plan, model_shape

__all__ = ["Plan", "make_plan", "model_shape"]
