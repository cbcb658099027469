"""Does the order of the visits matter, and how many are worth taking?"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from lft.analysis.effects import paired_effect
from lft.analysis.pairs import CONDITION_COLUMNS
from lft.analysis.records import read_records, refuse_repeats
from lft.analysis.tables import runs_table

ORDER_COLUMNS = [*CONDITION_COLUMNS, "num_steps", "parameters", "routing", "seeds", "deviation"]
ORDER_COLUMNS += ["standard_deviation", "low", "high", "p_order"]
EQUAL = [*CONDITION_COLUMNS, "num_steps", "parameters", "train_tokens"]


def order_effects(location: str | Path) -> pd.DataFrame:
    """How far each routing lies from the mean of those with as many steps, parameters and tokens.

    Seeds are blocks: only those count that all routings of a group were trained with, and each is measured
    against its own mean, so that what seeds do to all routings alike drops out.

    Args:
        location: A folder of run folders, a glob, or a run folder.

    Returns:
        One row a routing of a group: its mean `deviation` in nats (below zero is better) with the 95 % t
        interval over seeds, and `p_order`, that of an analysis of variance with seeds as blocks (statsmodels'
        `AnovaRM`) that all orders are worth the same; NaN below two seeds.

    Raises:
        RequestError: No run is there, or one is there twice.
    """
    refuse_repeats(read_records(location))
    rows: list[dict[str, Any]] = []
    for key, losses in _groups(location):
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
                }
            )
    table = pd.DataFrame(rows, columns=ORDER_COLUMNS)
    return table.sort_values([*CONDITION_COLUMNS, "num_steps", "deviation"], ignore_index=True)


def _groups(location: str | Path) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Losses by seed and routing of each group of at least two comparable routings."""
    table = runs_table(location)
    done = table[table["state"] == "done"].dropna(subset=["val_loss"])
    for key, group in done.groupby(EQUAL, sort=False):
        losses = group.pivot_table(index="seed", columns="routing", values="val_loss")
        # A routing that lacks most seeds is left out before it takes them from the others.
        complete = losses.loc[:, losses.notna().sum() == losses.notna().sum().max()].dropna()
        if complete.shape[1] >= 2 and len(complete):
            assert isinstance(key, tuple)
            yield key, complete


def _p_value(losses: pd.DataFrame) -> float:
    if len(losses) < 2 or float(losses.sub(losses.mean(axis=1), axis=0).to_numpy().std()) == 0:
        return float("nan")
    from statsmodels.stats.anova import AnovaRM

    long = losses.reset_index().melt(id_vars="seed", var_name="order", value_name="loss")
    long["seed"] = long["seed"].astype(int)
    return float(AnovaRM(long, "loss", "seed", within=["order"]).fit().anova_table["Pr > F"].iloc[0])


def option_curve(comparison: pd.DataFrame, option: str, default: float | None = None) -> pd.DataFrame:
    """The paired difference along an option of a routing, such as `revisits`, `span` or `feedback_at`.

    Args:
        comparison: Rows from `comparison_table`.
        option: The option's name; lists such as `feedback_at=[2]` count by their first number.
        default: The value of arms that do not name it; they are left out when not given.

    Returns:
        The rows with a column `value`, in its order, of those routings that have the option anywhere.
    """
    pattern = re.compile(rf"\b{re.escape(option)}=\[?(-?\d+(?:\.\d+)?)")
    found = [pattern.search(str(label)) for label in comparison["routing"]]
    names = [str(label).split(" ")[0] for label in comparison["routing"]]
    having = {name for name, match in zip(names, found, strict=True) if match}
    values = [
        float(match[1]) if match else default if name in having else None
        for name, match in zip(names, found, strict=True)
    ]
    table = comparison.assign(family=names, value=pd.Series(values, index=comparison.index, dtype="float64"))
    return table.dropna(subset=["value"]).sort_values(["family", "value"], ignore_index=True)
