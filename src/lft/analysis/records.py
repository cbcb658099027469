"""Run folders read for analysis: what a run was asked to do, what it recorded, and how people call it."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lft.errors import RequestError
from lft.runs import (
    ARM_KEYS,
    RunFolder,
    RunState,
    as_text,
    find_runs,
    flatten,
    result_keys,
    varying_keys,
)

# What `run.json` knows that the config does not: the text behind a path, and what `auto` came to.
RECORDED_CONDITIONS = (("data", "fingerprint"), ("data", "tokenizer_sha256"), ("execution", "precision"))


@dataclass(frozen=True)
class RunRecord:
    """One run as its folder tells it.

    Attributes:
        folder: The run folder.
        config: The resolved config.
        record: `run.json`.
        routing: The arm: the routing's name with every option, sharing condition and match that is not the
            usual one, such as `lft revisits=2`.
    """

    folder: RunFolder
    config: dict[str, Any]
    record: dict[str, Any]
    routing: str

    @property
    def scale(self) -> str:
        """Name of the scale."""
        return str(self.config["scale"]["name"])

    @property
    def budget_tokens(self) -> int:
        """Training tokens asked for."""
        return int(self.config["budget"]["tokens"])

    @property
    def seed(self) -> int:
        """Seed of initial weights and batch order."""
        return int(self.config["seed"])

    @property
    def is_done(self) -> bool:
        """Whether the run reached its end."""
        return self.folder.state is RunState.DONE

    @property
    def costs(self) -> dict[str, Any]:
        """Costs from `run.json`; empty when the run has only just begun."""
        return dict(self.record.get("costs", {}))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """`summary.json`; empty until the run is done."""
        return self.folder.read("summary.json") if self.is_done else {}

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """The logged rows, one a step."""
        return self.folder.read_metrics()

    def latest(self, metric: str) -> Any:
        """The last logged value of a metric, None when it was never logged."""
        return next((row[metric] for row in reversed(self.metrics) if metric in row), None)

    @cached_property
    def conditions(self) -> dict[str, Any]:
        """Everything that can change the result except the arm and the seed, by dotted key."""
        keys = result_keys(self.config)
        conditions = flatten({key: value for key, value in keys.items() if key not in (*ARM_KEYS, "seed")})
        for path in RECORDED_CONDITIONS:
            value: Any = self.record
            for key in path:
                value = value.get(key) if isinstance(value, Mapping) else None
            conditions[f"run.json {'.'.join(path)}"] = value
        return conditions


def read_records(location: str | Path) -> list[RunRecord]:
    """Every run at a location, sorted by size of the scale, budget, seed and routing (standard first).

    Raises:
        RequestError: No run is there, or a folder there is not a run of this project.
    """
    folders = find_runs(location)
    configs = [_read_config(folder) for folder in folders]
    records = [
        _record(folder, config, folder.read("run.json"))
        for folder, config in zip(folders, configs, strict=True)
    ]
    # An anchor stores more blocks than its scale; the smallest run is what the scale is named for.
    sizes: dict[str, float] = defaultdict(lambda: math.inf)
    for record in records:
        sizes[record.scale] = min(sizes[record.scale], record.costs.get("parameters", math.inf))
    return sorted(
        records,
        key=lambda record: (
            sizes[record.scale],
            record.scale,
            record.budget_tokens,
            record.seed,
            *routing_order(record.routing),
            record.folder.name,
        ),
    )


def routing_order(label: str) -> tuple[bool, str]:
    """Sort key of routings: the standard one first, the others by name."""
    return label != "standard", label


def setting_labels(records: list[RunRecord]) -> list[str]:
    """For each run, the conditions in which runs of its scale and budget differ, as text."""
    groups: dict[tuple[str, int], list[RunRecord]] = defaultdict(list)
    for record in records:
        groups[record.scale, record.budget_tokens].append(record)
    varying = {
        key: varying_keys([record.conditions for record in members]) for key, members in groups.items()
    }
    return [
        " ".join(
            f"{key}={as_text(record.conditions.get(key))}"
            for key in varying[record.scale, record.budget_tokens]
        )
        for record in records
    ]


def refuse_repeats(records: list[RunRecord]) -> None:
    """Make sure that no run is there twice.

    Raises:
        RequestError: Two folders hold the same run.
    """
    seen: dict[str, RunRecord] = {}
    for record in records:
        # The same result counted twice would pass for a further seed.
        identity = as_text([record.routing, record.seed, record.conditions])
        if identity in seen:
            raise RequestError(
                f"{seen[identity].folder.path} and {record.folder.path} are the same run; "
                "give a location with one of them"
            )
        seen[identity] = record


def _record(folder: RunFolder, config: dict[str, Any], record: dict[str, Any]) -> RunRecord:
    return RunRecord(folder, config, record, record.get("arm", config["routing"]["name"]))


def _read_config(folder: RunFolder) -> dict[str, Any]:
    try:
        config = folder.read("config.json")
        # Another program's folder may hold a config.json too, an exported model's for one.
        for path in (("routing", "name"), ("scale", "name"), ("budget", "tokens"), ("seed",)):
            value: Any = config
            for key in path:
                value = value[key]
    except (KeyError, TypeError, ValueError):
        raise RequestError(
            f"{folder.path} is not a run: its config.json is not that of a training run; "
            "give another folder with runs=..."
        ) from None
    return config
