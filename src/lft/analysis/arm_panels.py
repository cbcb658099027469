"""One panel for each arm, in rows that fit a page."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pandas as pd

from lft.analysis.figures import new_figure
from lft.analysis.pairs import ARM_COLUMNS
from lft.terminal import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_COLUMNS = 3


def arm_panels(
    rows: pd.DataFrame,
    height: Callable[[pd.DataFrame], float],
    widen: Callable[[pd.DataFrame], float] = lambda arm: 4.0,
    share_heights: bool = True,
) -> tuple["Figure", list[tuple["Axes", pd.DataFrame]]]:
    """A figure with a titled panel beside the rows of each arm.

    Args:
        rows: Of any table of visits.
        height: Inches that an arm's panel needs.
        widen: Inches of width that it needs.
        share_heights: Whether all panels have one vertical axis.
    """
    arms = [arm for _, arm in rows.groupby(ARM_COLUMNS, sort=False)]
    columns = min(len(arms), MOST_COLUMNS)
    rows_of_panels = math.ceil(len(arms) / columns)
    widths = [max(widen(arm) for arm in arms[column::columns]) for column in range(columns)]
    figure = new_figure(1.2 + sum(widths), rows_of_panels * max(height(arm) for arm in arms))
    grid = figure.subplots(rows_of_panels, columns, squeeze=False, width_ratios=widths, sharey=share_heights)
    panels = list(grid.flat)
    for panel in panels[len(arms) :]:
        panel.set_visible(False)
    panels = panels[: len(arms)]
    for panel, arm in zip(panels, arms, strict=True):
        panel.set_title(arm_title(arm, "\n"), fontsize=9)
    return figure, list(zip(panels, arms, strict=True))


def arm_title(arm: pd.DataFrame, separator: str) -> str:
    """The arm in words: its routing, and under what conditions."""
    return f"{arm['routing'].iloc[0]}{separator}{condition_label(arm.iloc[0])}"


def condition_label(row: Any) -> str:
    """Scale, budget, and what else tells a row's run from others."""
    return f"{row['scale']}, {short(row['budget_tokens'])} tokens {row['settings']}".strip()
