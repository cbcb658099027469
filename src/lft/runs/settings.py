"""Configs as flat mappings, and what tells several apart."""

import json
from collections.abc import Mapping
from typing import Any


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested mapping as `{dotted key: value}`."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def varying_keys(settings: list[dict[str, Any]]) -> list[str]:
    """The keys whose values are not the same in all of several flat mappings."""
    keys = sorted({key for flat in settings for key in flat})
    return [key for key in keys if len({as_text(flat.get(key)) for flat in settings}) > 1]


def as_text(value: Any) -> str:
    """A config value as a person would type it; equal exactly where the values are."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
