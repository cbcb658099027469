"""Registers the schemas with Hydra and turns a composed config into dataclasses."""

import json
from dataclasses import asdict, field, fields, is_dataclass, make_dataclass
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, DictConfig, OmegaConf

from lft.config.conditions import MatchConfig, OptimizerConfig
from lft.config.diagnostics import DiagnosticsConfig
from lft.config.schema import (
    BudgetConfig,
    PlanConfig,
    PrepareConfig,
    RoutingConfig,
    ScaleConfig,
    TrainConfig,
)
from lft.data import FilesConfig, FineWebEduConfig, SampleConfig
from lft.errors import RequestError
from lft.routing import ROUTINGS, find_routing


def routing_schema(name: str) -> type[RoutingConfig]:
    """The config class of a routing: its name and the options of its function."""
    options = [
        (key, option.type, field(default=MISSING if option.required else option.default))
        for key, option in find_routing(name).options.items()
    ]
    return make_dataclass(f"{name}_options", options, bases=(RoutingConfig,))


def register_schemas() -> None:
    """Make every schema known to Hydra as `<group>/<option>_schema`."""
    store = ConfigStore.instance()
    store.store(name="train_schema", node=TrainConfig)
    store.store(name="plan_schema", node=PlanConfig)
    store.store(name="prepare_schema", node=PrepareConfig)
    store.store(group="scale", name="scale_schema", node=ScaleConfig)
    store.store(group="budget", name="budget_schema", node=BudgetConfig)
    store.store(group="optimizer", name="adamw_schema", node=OptimizerConfig)
    store.store(group="match", name="match_schema", node=MatchConfig)
    store.store(group="diagnostics", name="diagnostics_schema", node=DiagnosticsConfig)
    store.store(group="data", name="fineweb_edu_schema", node=FineWebEduConfig)
    store.store(group="data", name="files_schema", node=FilesConfig)
    store.store(group="data", name="sample_schema", node=SampleConfig)
    for name in ROUTINGS:
        store.store(group="routing", name=f"{name}_schema", node=routing_schema(name))


def to_dataclass(config: DictConfig) -> Any:
    """The typed dataclasses behind a composed config.

    Raises:
        RequestError: A value is still missing, or a key was added that means nothing.
    """
    missing = sorted(OmegaConf.missing_keys(config))
    if missing:
        raise RequestError(f"{missing[0]} has no value; give it as {missing[0]}=...")
    typed = OmegaConf.to_object(config)
    if unknown := _unknown_key(config, typed):
        raise RequestError(f"{unknown} is not a key of this program; leave out what was added with +")
    return typed


def _unknown_key(config: DictConfig, typed: Any, prefix: str = "") -> str | None:
    """The first key of a config that its dataclass has no field for."""
    if not is_dataclass(typed):
        return None
    names = {field.name for field in fields(typed)}
    for key, node in config.items():
        name = str(key)
        if name not in names:
            return prefix + name
        if isinstance(node, DictConfig) and (found := _unknown_key(node, getattr(typed, name), f"{name}.")):
            return found
    return None


def plain_settings(config: TrainConfig) -> dict[str, Any]:
    """The keys of a training request as plain values, as `config.json` holds them."""
    values = asdict(config)
    # Through JSON, so that the hash sees what the file will hold.
    return json.loads(json.dumps({field.name: values[field.name] for field in fields(TrainConfig)}))


def routing_keywords(config: RoutingConfig) -> dict[str, Any]:
    """The options of a routing as keywords of `make_schedule`."""
    return {key: getattr(config, key) for key in ("share", *find_routing(config.name).options)}
