"""Parameters, FLOPs and bytes as functions of a shape and a number of steps."""

from lft.costs.closed_form import Costs, block_parameters, count_costs
from lft.costs.shape import ModelShape

__all__ = ["Costs", "ModelShape", "block_parameters", "count_costs"]
