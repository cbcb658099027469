"""What every kind of task yields."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]


def content_hash(text: str) -> str:
    """Enough of a text's SHA-256 to know it by."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass
class Answers:
    """What a model answered to a task.

    Attributes:
        items: Rows of `lft.runs.items`, but for the checkpoint.
        facts: Of the task and its data: version, revision, what lm-eval made of the items.
        warnings: What to know about the items, one sentence each.
    """

    items: list[Row]
    facts: dict[str, Any]
    warnings: list[str] = field(default_factory=list)
