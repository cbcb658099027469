"""Typed configs and their registration with Hydra."""

from lft.config.conditions import MatchConfig, OptimizerConfig, SharingConfig
from lft.config.diagnostics import DiagnosticsConfig
from lft.config.schema import (
    BudgetConfig,
    PathsConfig,
    PlanConfig,
    PrepareConfig,
    RoutingConfig,
    ScaleConfig,
    TrainConfig,
)
from lft.config.store import (
    plain_settings,
    register_schemas,
    routing_keywords,
    routing_schema,
    to_dataclass,
)

__all__ = [
    "BudgetConfig",
    "DiagnosticsConfig",
    "MatchConfig",
    "OptimizerConfig",
    "PathsConfig",
    "PlanConfig",
    "PrepareConfig",
    "RoutingConfig",
    "ScaleConfig",
    "SharingConfig",
    "TrainConfig",
    "plain_settings",
    "register_schemas",
    "routing_keywords",
    "routing_schema",
    "to_dataclass",
]
