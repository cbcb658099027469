"""Does the order of the visits matter, and how many are worth taking?"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from lft.analysis.arms import ArmLabel
from lft.analysis.effects import paired_effect
from lft.analysis.pairs import CONDITION_COLUMNS
from lft.analysis.records import read_records, refuse_repeats
from lft.analysis.tables import runs_table

ORDER_COLUMNS = [*CONDITION_COLUMNS, "num_steps", "parameters", "routing", "seeds", "deviation"]
ORDER_COLUMNS += ["standard_deviation", "low", "high", "p_order", "note"]
EQUAL = [*CONDITION_COLUMNS, "num_steps", "parameters", "train_tokens"]


def order_effects(location: str | Path) -> pd.DataFrame:
    """How far each routing lies from the mean of those with as many steps, parameters and tokens.

    Routings are compared that were trained in the same way, sharing and match included. Seeds are blocks:
    only those count that all routings of a group were trained with, and each is measured against its own
    mean, so that what seeds do to all routings alike drops out. Where fewer than two seeds are common to
    all, the routings with the fewest are left out.

    Args:
        location: A folder of run folders, a glob, or a run folder.

    Returns:
        One row a routing of a group: its mean `deviation` in nats (below zero is better) with the 95 % t
        interval over seeds, and `p_order`, that of an analysis of variance with seeds as blocks (statsmodels'
        `AnovaRM`) that all orders are worth the same; NaN below two seeds. `note` names what was left out.

    Raises:
        RequestError: No run is there, or one is there twice.
    """
    refuse_repeats(read_records(location))
    rows: list[dict[str, Any]] = []
    for key, losses, note in _groups(location):
        deviations = losses.sub(losses.mean(axis=1), axis=0)
        p_order = _p_value(losses)
        for routing in losses:
            effect = paired_effect([float(value) for value in deviations[routing]])
            head = dict(zip(EQUAL, key, strict=True))
            rows.append(
                {
                    **head,
                    "routing": routing,
                    "seeds": effect.pairs,
                    "deviation": effect.mean,
                    "standard_deviation": effect.standard_deviation,
                    "low": effect.low,
                    "high": effect.high,
                    "p_order": p_order,
                    "note": note,
                }
            )
    table = pd.DataFrame(rows, columns=ORDER_COLUMNS)
    return table.sort_values([*CONDITION_COLUMNS, "num_steps", "deviation"], ignore_index=True)


def _groups(location: str | Path) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame, str]]:
    """Losses by seed and routing of each group of at least two comparable routings, and what is not in it."""
    table = runs_table(location)
    done = table[table["state"] == "done"].replace({"val_loss": [math.inf, -math.inf]}, math.nan)
    labels = {label: ArmLabel.parse(label) for label in done["routing"].unique()}
    trained = done["routing"].map(lambda label: str(labels[label].conditions))
    for key, group in done.groupby([*EQUAL, trained.rename("trained")], sort=False):
        losses = group.pivot_table(index="seed", columns="routing", values="val_loss", dropna=False)
        common, note = _common_seeds(losses)
        if common.shape[1] >= 2 and len(common):
            assert isinstance(key, tuple)
            yield key[:-1], common, note


def _common_seeds(losses: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The seeds that all routings have; routings that leave fewer than two are given up, and named."""
    kept = losses
    while len(kept.dropna()) < 2 and kept.shape[1] > 2:
        counts = kept.notna().sum()
        if counts.min() == counts.max():
            break
        kept = kept.drop(columns=counts.idxmin())
    # Nobody is given up for nothing.
    if len(kept.dropna()) < 2 and len(losses.dropna()):
        kept = losses
    common = kept.dropna()
    notes = [
        f"{routing} left out (seeds {_listed(losses[routing].dropna().index)} alone)"
        for routing in losses
        if routing not in kept
    ]
    lost = kept.index.difference(common.index)
    if len(lost):
        lacking = ", ".join(str(routing) for routing in kept if kept[routing].isna().any())
        notes.append(f"seeds {_listed(lost)} left out ({lacking} without a finished, finite run)")
    return common, "; ".join(notes)


def _listed(seeds: pd.Index) -> str:
    return ", ".join(str(seed) for seed in seeds)


def _p_value(losses: pd.DataFrame) -> float:
    if len(losses) < 2 or float(losses.sub(losses.mean(axis=1), axis=0).to_numpy().std()) == 0:
        return float("nan")
    from statsmodels.stats.anova import AnovaRM

    long = losses.reset_index().melt(id_vars="seed", var_name="order", value_name="loss")
    long["seed"] = long["seed"].astype(int)
    return float(AnovaRM(long, "loss", "seed", within=["order"]).fit().anova_table["Pr > F"].iloc[0])


def option_curve(comparison: pd.DataFrame, option: str, default: float | None = None) -> pd.DataFrame:
    """The paired difference along an option of a routing, such as `revisits`, `span` or `feedback_at`.

    Only arms that differ in nothing else are on it: none with another option, sharing condition or match.

    Args:
        comparison: Rows from `comparison_table`.
        option: The option's name; lists such as `feedback_at=[2]` count when they hold one number.
        default: The value of arms that do not name it; they are left out when not given.

    Returns:
        The rows with columns `family` and `value`, in the order of the value, of those routings that have the
        option anywhere.
    """
    labels = [ArmLabel.parse(str(label)) for label in comparison["routing"]]
    named = [_single_value(label, option) for label in labels]
    having = {label.family for label, value in zip(labels, named, strict=True) if value is not None}
    values = [
        value if label.options else default if label.family in having and not label.conditions else None
        for label, value in zip(labels, named, strict=True)
    ]
    table = comparison.assign(
        family=[label.family for label in labels],
        value=pd.Series(values, index=comparison.index, dtype="float64"),
    )
    return table.dropna(subset=["value"]).sort_values(["family", "value"], ignore_index=True)


def _single_value(label: ArmLabel, option: str) -> float | None:
    """The option's number, where it is all that the label names."""
    if set(label.options) != {option} or label.conditions:
        return None
    match = re.fullmatch(r"\[?(-?\d+(?:\.\d+)?)\]?", label.options[option])
    return float(match[1]) if match else None
