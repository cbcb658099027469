"""Typed configs and their registration with Hydra."""

from lft.config.schema import (
    BudgetConfig,
    OptimizerConfig,
    PathsConfig,
    PrepareConfig,
    RoutingConfig,
    ScaleConfig,
    TrainConfig,
)
from lft.config.store import register_schemas, routing_keywords, routing_schema, to_dataclass

__all__ = [
    "BudgetConfig",
    "OptimizerConfig",
    "PathsConfig",
    "PrepareConfig",
    "RoutingConfig",
    "ScaleConfig",
    "TrainConfig",
    "register_schemas",
    "routing_keywords",
    "routing_schema",
    "to_dataclass",
]
