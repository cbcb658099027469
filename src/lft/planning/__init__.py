"""From a config to what a run will do and cost; no torch, no weights, no data."""

from lft.planning.arm import Arm, make_arm, model_shape
from lft.planning.matching import Match, StepCosts, check_epochs, reference_arm
from lft.planning.plan import Plan, make_plan
from lft.planning.report import Report
from lft.planning.routes import evaluation_routes

__all__ = [
    "Arm",
    "Match",
    "Plan",
    "Report",
    "StepCosts",
    "check_epochs",
    "evaluation_routes",
    "make_arm",
    "make_plan",
    "model_shape",
    "reference_arm",
]
