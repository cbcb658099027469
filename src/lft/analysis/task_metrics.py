"""What a task's items are averaged to: for each metric a value and a weight an item."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lft.runs import WHOLE_TEXT

NATS_PER_BIT = math.log(2)
WEIGHTED = "weighted_acc"


@dataclass(frozen=True, eq=False)
class Metric:
    """A number that every item has, and how to read its mean.

    Attributes:
        name: As lm-eval calls it, where it has it.
        values: By item; NaN where an item has none.
        weights: How much each item counts.
        display: What the mean is shown as.
    """

    name: str
    values: np.ndarray
    weights: np.ndarray
    display: Callable[[float], float] = float

    @property
    def difference_name(self) -> str:
        """What a difference of means is called, which `display` does not apply to."""
        return "nats" if self.name == "perplexity" else self.name

    @property
    def is_share(self) -> bool:
        """Whether the values say yes or no, so that the mean is a share."""
        return bool(np.isin(self.values, (0.0, 1.0)).all())


def task_metrics(items: pd.DataFrame) -> list[Metric]:
    """All metrics of a task's items; the first one is the task's own.

    For texts that are scored whole these are bits per byte and nats per token, each weighted so that the
    mean is that of all text; else the numbers that lm-eval has for every item, the one that decides `right`
    first, and where weights differ the weighted accuracy.
    """
    if items["output_type"].eq(WHOLE_TEXT).all():
        return _text_metrics(items)
    ones = np.ones(len(items))
    right = items["right"].to_numpy(dtype=float, na_value=np.nan)
    table = pd.DataFrame([dict(pairs) for pairs in items["metrics"]], index=items.index)
    columns = {str(name): table[name].to_numpy(dtype=float) for name in table}
    ordered = sorted(columns, key=lambda name: (not np.array_equal(columns[name], right), name != "acc_norm"))
    metrics = [
        # The log-probability of an item's text, whose mean lm-eval shows as a perplexity.
        Metric(name, -columns[name], ones, math.exp)
        if name == "perplexity"
        else Metric(name, columns[name], ones)
        for name in ordered
    ]
    weights = items["weight"].to_numpy(dtype=float)
    if np.ptp(weights) > 0:
        metrics.insert(1, Metric(WEIGHTED, right, weights))
    return metrics


def main_metrics(metrics: list[Metric]) -> list[Metric]:
    """The ones that categories are told apart by: the task's own, and with its weights."""
    return [metric for metric in metrics if metric in metrics[:1] or metric.name == WEIGHTED]


def _text_metrics(items: pd.DataFrame) -> list[Metric]:
    nats = np.array([-sum(values) for values in items["log_probabilities"]])
    tokens = np.array([sum(values) for values in items["tokens"]], dtype=float)
    lengths = np.array([sum(values) for values in items["bytes"]], dtype=float)
    return [
        Metric("bits_per_byte", nats / NATS_PER_BIT / lengths, lengths),
        Metric("nats_per_token", nats / tokens, tokens),
    ]


def groups_of(items: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    """A task's items as a whole, by category, and by difficulty, where it has such.

    Returns:
        Items by the kind of group (empty for the whole task) and its name, in the order of their appearance.
    """
    groups = {("", ""): items}
    for kind in ("category", "difficulty"):
        if items[kind].notna().any():
            for name, members in items.groupby(kind, sort=False, observed=True):
                groups[kind, str(name)] = members
    return groups
