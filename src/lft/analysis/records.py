"""Run folders read for analysis: what a run was asked to do, what it recorded, and how people call it."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
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

# What does not decide a result by intention, and may all the same.
RECORDED_CIRCUMSTANCES = (("git", "commit"), ("packages", "torch"), ("execution", "device"))
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
        return dict(self.record.get("costs") or {})

    @cached_property
    def summary(self) -> dict[str, Any]:
        """`summary.json`; empty until the run is done."""
        return read_object(self.folder, "summary.json") if self.is_done else {}

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
        return conditions | {
            f"run.json {name}": value for name, value in self._recorded(RECORDED_CONDITIONS).items()
        }

    @cached_property
    def circumstances(self) -> dict[str, Any]:
        """The code and the machine that a run was made with, by dotted key of `run.json`."""
        return self._recorded(RECORDED_CIRCUMSTANCES)

    def number(self, name: str) -> float:
        """A number of `summary.json`; NaN where it is none, or is not there."""
        value = self.summary.get(name)
        return float(value) if isinstance(value, int | float) else math.nan

    def identity(self, settings: str) -> dict[str, Any]:
        """The columns that say which run a row is of; `settings` is what else tells it apart."""
        return {
            "run_id": self.folder.name,
            "routing": self.routing,
            "scale": self.scale,
            "budget_tokens": self.budget_tokens,
            "settings": settings,
            "seed": self.seed,
        }

    def _recorded(self, paths: Iterable[tuple[str, str]]) -> dict[str, Any]:
        found = {}
        for group, key in paths:
            section = self.record.get(group)
            found[f"{group}.{key}"] = section.get(key) if isinstance(section, Mapping) else None
        return found


def read_records(location: str | Path) -> list[RunRecord]:
    """Every run at a location, sorted by size of the scale, budget, seed and routing (standard first).

    Raises:
        RequestError: No run is there, a folder there is not a run of this project, or a file is damaged.
    """
    records = [_read_record(folder) for folder in find_runs(location)]
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
    """For each run, the conditions in which runs of its scale differ, as text.

    Of those of other budgets, what belongs to the budget and what `run.json` recorded, such as the text that
    was prepared for it, are no difference.
    """
    groups: dict[tuple[str, int | None], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        asked = {
            key: value
            for key, value in record.conditions.items()
            if not key.startswith(("budget.", "run.json "))
        }
        groups[record.scale, record.budget_tokens].append(record.conditions)
        groups[record.scale, None].append(asked)
    varying = {key: varying_keys(members) for key, members in groups.items()}
    labels = []
    for record in records:
        keys = {*varying[record.scale, record.budget_tokens], *varying[record.scale, None]}
        words = [f"{key}={as_text(value)}" for key, value in record.conditions.items() if key in keys]
        labels.append(" ".join(words))
    return labels


def common_settings(records: list[RunRecord]) -> list[str]:
    """For each run, the conditions in which the runs differ, scale and budget apart, as text.

    Runs with equal texts may be compared across scales and budgets.
    """
    own = [
        {key: value for key, value in record.conditions.items() if not key.startswith(("scale.", "budget."))}
        for record in records
    ]
    keys = varying_keys(own) if own else []
    return [" ".join(f"{key}={as_text(each.get(key))}" for key in keys) for each in own]


def refuse_repeats(records: list[RunRecord]) -> None:
    """Make sure that no run is there twice, and that no two runs have one name.

    Raises:
        RequestError: Two folders hold the same run, or bear the same name.
    """
    seen: dict[str, RunRecord] = {}
    for record in records:
        # Of a run that stopped before it wrote what it is, the name alone is known.
        result = as_text([record.routing, record.seed, record.conditions]) if record.record else ""
        for identity, reason in ((result, "are the same run"), (record.folder.name, "claim to be one run")):
            # The same result counted twice would pass for a further seed.
            other = seen.setdefault(identity, record) if identity else record
            if other is not record:
                raise RequestError(
                    f"{other.folder.path} and {record.folder.path} {reason}; give a location with one of them"
                )


def read_object(folder: RunFolder, name: str) -> dict[str, Any]:
    """A JSON file of a run that must hold an object; empty when it is not there.

    Raises:
        RequestError: The file is damaged.
    """
    try:
        content = folder.read(name)
        if isinstance(content, dict):
            return content
    except ValueError:
        pass
    raise RequestError(f"{folder.path / name} is damaged; restore it, or move the run elsewhere")


def _read_record(folder: RunFolder) -> RunRecord:
    config, record = _read_config(folder), read_object(folder, "run.json")
    needed = {
        "run.json": "schedule" in record and record.get("plan") and "parameters" in record.get("costs", ()),
        "summary.json": "train_tokens" in read_object(folder, "summary.json"),
    }
    missing = [name for name, is_whole in needed.items() if not is_whole]
    if missing and folder.state is RunState.DONE:
        raise RequestError(
            f"{folder.path} is done, but its {missing[0]} is missing or incomplete; restore it, or move "
            "the run elsewhere"
        )
    return RunRecord(folder, config, record, record.get("arm", config["routing"]["name"]))


def _read_config(folder: RunFolder) -> dict[str, Any]:
    try:
        config = folder.read("config.json")
        # Another program's folder may hold a config.json too, an exported model's for one.
        str(config["routing"]["name"]), str(config["scale"]["name"])
        int(config["budget"]["tokens"]), int(config["seed"])
    except (KeyError, TypeError, ValueError):
        raise RequestError(
            f"{folder.path} is not a run: its config.json is not that of a training run; "
            "give another folder with runs=..."
        ) from None
    return config
