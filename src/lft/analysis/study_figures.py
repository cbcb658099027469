"""Figures of the study's questions, for a page or a paper: one colour for each routing, bands over seeds."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from lft.analysis.bands import arms_of, seed_bands
from lft.analysis.deployment import CONSTRAINTS, EXPORT_CONSTRAINTS
from lft.analysis.figures import (
    LINE_STYLES,
    ROUTING_COLOURS,
    name_axis,
    new_figure,
    routing_colour,
    scale_panels,
    styles_by_colour,
    tidy,
)
from lft.analysis.names import line_names, row_names
from lft.analysis.pairs import CONDITION_COLUMNS
from lft.errors import RequestError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRIC_NAMES = {"val/loss": "validation loss (nats per token)", "val/bits_per_byte": "bits per byte"}


def loss_bands(curves: pd.DataFrame, x: str = "train/tokens", metric: str = "val/loss") -> "Figure":
    """Draw each arm's mean over seeds with its 95 % band, a panel for each scale.

    Runs that are in no mean, as `seed_bands` says, are thin lines of their own.

    Args:
        curves: Rows from `curves_table`.
        x: Column to draw against: `train/tokens`, `train/flops`, `perf/seconds` or `perf/joules`.
        metric: `val/loss` or `val/bits_per_byte`.

    Raises:
        RequestError: No run has validated, or none knows `x`.
    """
    bands = seed_bands(curves, x, metric)
    if bands.empty:
        raise RequestError(f"no run has validated yet, or none logged {x}; there is nothing to draw")
    figure, panels = scale_panels(bands, 4.4, 4.2)
    for panel, rows in panels:
        arms = arms_of(rows)
        styles = styles_by_colour(
            [routing_colour(line["routing"].iloc[0]) for line in arms.values()], LINE_STYLES
        )
        for style, (name, line) in zip(styles, arms.items(), strict=True):
            colour, width = routing_colour(line["routing"].iloc[0]), 0.8 if line["run"].iloc[0] else 1.5
            look: dict[str, Any] = {"color": colour, "linestyle": style, "linewidth": width}
            panel.plot(line["x"], line["mean"], label=name, marker="o", markersize=3.5, **look)
            panel.fill_between(line["x"], line["low"], line["high"], color=colour, alpha=0.15, linewidth=0)
        panel.set_title(f"scale {rows['scale'].iloc[0]}", fontsize=10)
        name_axis(panel, x)
        tidy(panel)
        panel.legend(frameon=False, fontsize=8)
    figure.axes[0].set_ylabel(METRIC_NAMES.get(metric, metric))
    return figure


def differences_by_budget(differences: pd.DataFrame) -> "Figure":
    """Draw the paired difference of each arm by budget, a panel for each scale.

    Args:
        differences: Rows from `paired_differences` or `comparison_table`.

    Raises:
        RequestError: Nothing is paired, or there is no second budget.
    """
    drawn = differences[differences["pairs"] > 0]
    if drawn.empty:
        raise RequestError("no run found a partner of the baseline; there is nothing to draw")
    if drawn["budget_tokens"].nunique() < 2:
        raise RequestError("all pairs have one budget; differences_by_routing draws them")
    figure, panels = scale_panels(drawn, 3.4, 3.8, share_heights=True)
    for panel, rows in panels:
        lines = [line for _, line in rows.groupby(["routing", "settings"], sort=False)]
        names = line_names([line.drop(columns="budget_tokens") for line in lines])
        colours = [routing_colour(line["routing"].iloc[0]) for line in lines]
        for name, line, colour, style in zip(
            names, lines, colours, styles_by_colour(colours, LINE_STYLES), strict=True
        ):
            line = line.sort_values("budget_tokens")
            look: dict[str, Any] = {"color": colour, "linestyle": style}
            panel.plot(line["budget_tokens"], line["difference"], marker="o", label=name, **look)
            panel.vlines(line["budget_tokens"], line["low"], line["high"], color=colour, linewidth=1)
        panel.axhline(0, color=ROUTING_COLOURS["standard"], linewidth=0.8)
        panel.set_xscale("log")
        panel.set_title(f"scale {rows['scale'].iloc[0]}", fontsize=10)
        panel.set_xlabel("budget (tokens)")
        tidy(panel)
        panel.legend(frameon=False, fontsize=8)
    figure.axes[0].set_ylabel(f"loss minus that of {drawn['baseline'].iloc[0]} (nats)")
    return figure


def deviations_by_order(orders: pd.DataFrame) -> "Figure":
    """Draw how far routings of equal steps lie from their mean, best on top.

    Args:
        orders: Rows from `order_effects`.

    Raises:
        RequestError: No two comparable routings are done.
    """
    if orders.empty:
        raise RequestError(
            "no two routings of equal steps and parameters share a finished seed; there is nothing to draw"
        )
    return _intervals(orders, row_names(orders), "deviation", "loss minus the mean of equal steps (nats)")


def difference_along(curve: pd.DataFrame, option: str) -> "Figure":
    """Draw the paired difference along an option; arms that differ in anything else have lines of their own.

    Args:
        curve: Rows from `option_curve`.
        option: Its name.

    Raises:
        RequestError: No arm has the option.
    """
    if curve.empty:
        raise RequestError(f"no arm differs in {option}; there is nothing to draw")
    figure = new_figure(6.4, 4.0)
    panel = figure.subplots()
    # What an arm is apart from the option: its routing, its other options, and what it is matched by.
    named = re.compile(rf" {re.escape(option)}=(\[[^\]]*\]|\S+)")
    arms = curve.assign(routing=[named.sub("", str(label)) for label in curve["routing"]])
    lines = [line for _, line in arms.groupby(["routing", *CONDITION_COLUMNS], sort=False)]
    names = line_names(lines)
    colours = [routing_colour(line["routing"].iloc[0]) for line in lines]
    for name, line, colour, style in zip(
        names, lines, colours, styles_by_colour(colours, LINE_STYLES), strict=True
    ):
        line = line.sort_values("value")
        panel.plot(line["value"], line["difference"], marker="o", color=colour, linestyle=style, label=name)
        panel.vlines(line["value"], line["low"], line["high"], color=colour, linewidth=1)
    panel.axhline(0, color=ROUTING_COLOURS["standard"], linewidth=0.8)
    panel.set_xlabel(option)
    panel.set_ylabel(f"loss minus that of {curve['baseline'].iloc[0]} (nats)")
    panel.legend(frameon=False, fontsize=8)
    tidy(panel)
    return figure


def frontier(table: pd.DataFrame, cost: str = "stored_bytes") -> "Figure":
    """Draw loss against a cost; arms that no other beats in both are filled.

    Args:
        table: Rows from `deployment_table` or `exports_table`.
        cost: One of its costs.

    Raises:
        RequestError: No run recorded the cost, or the table has no such cost.
    """
    names = {name: words for name, words in {**CONSTRAINTS, **EXPORT_CONSTRAINTS}.items() if name in table}
    if cost not in names:
        raise RequestError(f"there is no cost '{cost}'; choose one of {', '.join(names)}")
    drawn = table.dropna(subset=[cost, "val_loss"])
    if drawn.empty:
        raise RequestError(f"no run that is done recorded {cost}; there is nothing to draw")
    figure = new_figure(6.4, 4.0)
    panel = figure.subplots()
    for name, row in zip(row_names(drawn), drawn.to_dict("records"), strict=True):
        colour = routing_colour(row["routing"])
        fill = colour if row[f"{cost}_frontier"] else "none"
        panel.scatter(row[cost], row["val_loss"], s=60, facecolors=fill, edgecolors=colour)
        panel.annotate(f" {name}", (row[cost], row["val_loss"]), fontsize=8, color=colour)
    panel.set_xscale("log")
    panel.set_xlabel(names[cost])
    panel.set_ylabel(METRIC_NAMES["val/loss"])
    tidy(panel)
    return figure


def task_forest(differences: pd.DataFrame) -> "Figure":
    """Draw paired differences in accuracy, task by task, with their intervals.

    Args:
        differences: Rows from `task_differences`.

    Raises:
        RequestError: No two runs were compared.
    """
    drawn = differences[(differences["kind"] == "") & differences["share"].eq(True)]
    if drawn.empty:
        raise RequestError("no two runs were asked the same tasks; there is nothing to draw")
    names = row_names(drawn, always=("task", "metric", "routing"))
    title = f"accuracy minus that of {drawn['baseline'].iloc[0]} (percentage points)"
    return _intervals(drawn, names, "difference", title, unit=100)


def _intervals(rows: pd.DataFrame, names: list[str], value: str, title: str, unit: float = 1.0) -> "Figure":
    """Values with their 95 % intervals, the first row on top, and zero marked."""
    figure = new_figure(6.7, 1.4 + 0.31 * len(rows))
    panel = figure.subplots()
    for height, row in enumerate(rows.iloc[::-1].to_dict("records")):
        colour = routing_colour(row["routing"])
        panel.plot([unit * row["low"], unit * row["high"]], [height, height], color=colour, linewidth=1.5)
        panel.plot(unit * row[value], height, "o", color=colour, markersize=5)
    panel.set_yticks(range(len(rows)), names[::-1], fontsize=8)
    panel.axvline(0, color=ROUTING_COLOURS["standard"], linewidth=0.8)
    panel.set_xlabel(title)
    tidy(panel)
    return figure


def save_figure(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and as SVG, whose text stays text."""
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for kind in ("png", "svg")]
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        for path in paths:
            figure.savefig(path, dpi=200, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths
