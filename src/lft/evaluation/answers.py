"""What every kind of task yields."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]


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


def item_warnings(items: Sequence[Row]) -> list[str]:
    """What to know about the items, one sentence each."""
    counts = {
        "with a context cut from the left to fit": sum(bool(row["truncated_tokens"]) for row in items),
        "with more than one right answer": sum(len(row.get("labels") or ()) > 1 for row in items),
        "where a wrong choice reads like the right one": sum(row.pop("twins", False) for row in items),
        "with a score that is not a number": sum(
            not math.isfinite(value) for row in items for value in row.get("log_probabilities") or ()
        ),
    }
    return [f"{count} of {len(items)} items {what}" for what, count in counts.items() if count]
