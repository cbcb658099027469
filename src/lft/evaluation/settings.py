"""What can be asked of an evaluation."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from lft.analysis import number
from lft.errors import RequestError

CHOICES = {
    "source": ("hub", "files"),
    "too_long": ("truncate", "refuse"),
    "precision": ("fp32", "bf16"),
    "window": ("sliding", "disjoint"),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How tasks are asked; on the command line the keys start with `eval.`.

    Attributes:
        source: Where items come from: `hub`, or `files` of `folder`.
        folder: Files of items, as `make eval-data` fetches them; Base Bench's file is looked up here first.
        too_long: What to do with an item longer than the context: `truncate` its context from the left and
            count it, or `refuse`.
        precision: `fp32` or `bf16`.
        batch_tokens: Most tokens of a forward pass, padding included.
        limit: Only so many items of each task; 0 for all.
        text: Files whose bits per byte are asked, comma-separated: files, folders or globs.
        window: Context that bits per byte are measured with: `sliding` windows that overlap by half, so
            that every token but the first ones of a document sees at least half a context, or `disjoint`.
        long_context: Loss by position is measured up to so many times the training context.

    Raises:
        RequestError: A value is not among the choices, or out of its range.
    """

    source: str = "hub"
    folder: str = "eval-data"
    too_long: str = "truncate"
    precision: str = "fp32"
    batch_tokens: int = 16_384
    limit: int = 0
    text: str = ""
    window: str = "sliding"
    long_context: float = 2.0

    def __post_init__(self) -> None:
        for key, choices in CHOICES.items():
            if getattr(self, key) not in choices:
                raise RequestError(f"eval.{key}={getattr(self, key)} is not one of {', '.join(choices)}")
        for key, least in {"batch_tokens": 1, "limit": 0, "long_context": 1}.items():
            if not least <= getattr(self, key) < math.inf:
                raise RequestError(f"eval.{key}={getattr(self, key)} must be {least} or more")


def setting_keys() -> dict[str, str]:
    """The keys of the command line with their defaults."""
    return {f"eval.{field.name}": str(field.default) for field in fields(Settings)}


def read_settings(request: Mapping[str, str]) -> Settings:
    """The settings that were asked for on the command line.

    Raises:
        RequestError: A value is not among the choices, or out of its range.
    """
    values: dict[str, Any] = {}
    for field in fields(Settings):
        key, kind = f"eval.{field.name}", type(field.default)
        values[field.name] = request[key] if kind is str else number(request, key, kind)
    return Settings(**values)
