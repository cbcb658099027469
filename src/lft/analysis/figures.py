"""Figures of runs: one fixed colour for each routing, one panel for each scale."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pandas as pd

from lft.analysis.pairs import CONDITION_COLUMNS
from lft.analysis.records import routing_order
from lft.errors import RequestError
from lft.terminal import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, told apart with every common colour blindness. Black is the yardstick. Yellow
# is darkened to be seen on white; grey and brown are models with other weights, which answer another
# question than the shared arms.
ROUTING_COLOURS = {
    "standard": "#000000",
    "lft": "#D55E00",
    "loop": "#0072B2",
    "repeat": "#009E73",
    "mirror": "#CC79A7",
    "cycle": "#56B4E9",
    "shuffle": "#E69F00",
    "palindrome": "#B8A700",
    "deep": "#7F7F7F",
    "thin_deep": "#B0B0B0",
    "wide": "#8C564B",
    "shrunk": "#C49C94",
    "explicit": "#6A3D9A",
}
Style = TypeVar("Style")
LineStyle = Literal["-", "--", ":", "-."] | tuple[float, tuple[float, ...]]
LINE_STYLES: tuple[LineStyle, ...] = (
    *("-", "--", ":", "-."),
    *((0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2, 1, 2))),
)
AXIS_LABELS = {
    "train/tokens": "training tokens",
    "tokens": "training tokens",
    "train/flops": "training compute (FLOPs; G = 10⁹, T = 10¹², P = 10¹⁵)",
    "step": "optimizer steps",
    "perf/seconds": "training time (s)",
    "perf/joules": "training energy (J)",
}
# Largest value by smallest from which axes and colours follow the logarithm: wider than ten evenly spaced
# milestones of one budget, so that only a sweep over budgets turns to logs.
LOG_SPREAD = 30


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure of so many inches."""
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(width, height), dpi=110, layout="constrained")
    # Off pyplot's list, else a notebook shows it twice: as open figure and as the cell's value.
    pyplot.close(figure)
    return figure


def scale_panels(
    rows: pd.DataFrame, width: float, height: float, share_heights: bool = False
) -> tuple["Figure", list[tuple["Axes", pd.DataFrame]]]:
    """A figure with a panel beside the rows of each scale, in the order of the scales.

    Args:
        rows: Of any table of runs.
        width: Inches of a panel.
        height: Inches of the figure.
        share_heights: Whether all panels have one vertical axis.
    """
    scales = list(dict.fromkeys(rows["scale"]))
    figure = new_figure(1.8 + width * len(scales), height)
    panels = figure.subplots(1, len(scales), squeeze=False, sharey=share_heights)[0]
    return figure, [
        (panel, rows[rows["scale"] == scale]) for panel, scale in zip(panels, scales, strict=True)
    ]


def routing_colour(label: str) -> str:
    """The colour of a routing, whatever its options; the same in every figure."""
    return ROUTING_COLOURS.get(label.split(" ")[0], "#6A3D9A")


def loss_against(
    curves: pd.DataFrame, x: str = "train/tokens", log_x: bool | None = None, title: str | None = None
) -> "Figure":
    """Draw the loss of every run: validation as marked lines, training as thin ones, a panel for each scale.

    The vertical range follows the validation loss, so that differences between arms show; the steep
    start of training lies above it.

    Args:
        curves: Rows from `curves_table`.
        x: Column to draw against: `train/tokens`, `train/flops`, `step`, `perf/seconds` or `perf/joules`.
        log_x: Whether the horizontal axis is logarithmic; by default where runs span a wide range.
        title: Title of the figure.

    Raises:
        RequestError: The curves hold no logged step, or no such column.
    """
    if x not in curves:
        raise RequestError(f"curves have no column '{x}'; choose one of {', '.join(AXIS_LABELS)}")
    drawn = curves.dropna(subset=[x])
    if drawn.empty:
        raise RequestError("no run has logged a step yet; there is nothing to draw")
    figure, panels = scale_panels(drawn, 4.6, 4.4)
    for panel, rows in panels:
        _draw_scale(panel, rows, x, log_x)
        panel.set_title(_scale_title(rows["scale"].iloc[0], rows), fontsize=10)
    figure.axes[0].set_ylabel("loss (nats per token)")
    if title:
        figure.suptitle(title)
    _add_legend(figure, list(dict.fromkeys(drawn["routing"])))
    return figure


def differences_by_routing(comparison: pd.DataFrame, pairs: pd.DataFrame) -> "Figure":
    """Draw every arm's difference from the baseline, best on top: the mean, its interval, and each seed.

    Args:
        comparison: Rows from `comparison_table`.
        pairs: Rows from `pairs_table`.

    Raises:
        RequestError: Nothing is paired.
    """
    drawn = comparison[comparison["pairs"] > 0]
    if drawn.empty:
        raise RequestError("no run found a partner of the baseline; there is nothing to draw")
    groups = [rows for _, rows in drawn.groupby(CONDITION_COLUMNS, sort=False)]
    figure = new_figure(1.8 + 4.6 * len(groups), 1.4 + 0.32 * drawn["routing"].nunique())
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for panel, rows in zip(panels, groups, strict=True):
        first = rows.iloc[0]
        same = (pairs[CONDITION_COLUMNS] == first[CONDITION_COLUMNS]).all(axis=1)
        _draw_differences(panel, rows, pairs[same & (pairs["problem"] == "")])
        title = f"scale {first['scale']}, {short(first['budget_tokens'])} tokens {first['settings']}"
        panel.set_title(title.strip(), fontsize=10)
    return figure


def _draw_differences(panel: "Axes", rows: pd.DataFrame, pairs: pd.DataFrame) -> None:
    for height, row in enumerate(rows.iloc[::-1].to_dict("records")):
        colour = routing_colour(row["routing"])
        seeds = pairs.loc[pairs["routing"] == row["routing"], "difference"]
        panel.plot(seeds, [height] * len(seeds), "|", color=colour, markersize=9, alpha=0.7)
        if row["pairs"] >= 2:
            panel.plot([row["low"], row["high"]], [height, height], color=colour, linewidth=1.5)
        panel.plot(row["difference"], height, "o", color=colour, markersize=5)
    panel.set_yticks(range(len(rows)), list(rows["routing"].iloc[::-1]))
    panel.axvline(0, color=ROUTING_COLOURS["standard"], linewidth=0.8)
    panel.set_xlabel(f"validation loss minus that of {rows['baseline'].iloc[0]} (nats)")
    tidy(panel)


def tidy(panel: "Axes") -> None:
    """Give a panel a faint grid and two spines."""
    panel.grid(True, color="#DDDDDD", linewidth=0.6)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _draw_scale(panel: "Axes", rows: pd.DataFrame, x: str, log_x: bool | None) -> None:
    styles = _line_styles(list(dict.fromkeys(rows["routing"])))
    for (routing, _), run in rows.groupby(["routing", "run_id"], sort=False):
        look: dict[str, Any] = {"color": routing_colour(str(routing)), "linestyle": styles[str(routing)]}
        training = run.dropna(subset=["train/loss"])
        panel.plot(training[x], training["train/loss"], linewidth=0.6, alpha=0.45, zorder=2, **look)
        validation = run.dropna(subset=["val/loss"])
        panel.plot(
            validation[x], validation["val/loss"], linewidth=1.3, marker="o", markersize=4, zorder=3, **look
        )
    points = rows.dropna(subset=["val/loss"])
    positive = points.loc[points[x] > 0, x]
    spread = positive.max() / positive.min() if len(positive) else 1.0
    if spread > LOG_SPREAD if log_x is None else log_x:
        panel.set_xscale("log")
        if len(positive):
            panel.set_xlim(positive.min() / 1.5, rows[x].max() * 1.2)
    else:
        panel.set_xlim(left=0)
    if len(points) and points["val/loss"].min() < points["val/loss"].max():
        span = points["val/loss"].max() - points["val/loss"].min()
        panel.set_ylim(points["val/loss"].min() - 0.12 * span, points["val/loss"].max() + 0.12 * span)
    name_axis(panel, x)
    tidy(panel)


def name_axis(panel: "Axes", x: str) -> None:
    """Label the horizontal axis and write its counts short."""
    from matplotlib.ticker import EngFormatter

    if x in ("train/tokens", "tokens"):
        panel.xaxis.set_major_formatter(lambda value, _: short(value))
    elif x == "train/flops":
        panel.xaxis.set_major_formatter(EngFormatter())
    panel.set_xlabel(AXIS_LABELS.get(x, x))


def styles_by_colour(colours: Sequence[str], styles: Sequence[Style]) -> list[Style]:
    """The first style for the first line of a colour, the next one for each further line of it."""
    return [styles[colours[:place].count(own) % len(styles)] for place, own in enumerate(colours)]


def _line_styles(labels: list[str]) -> dict[str, LineStyle]:
    ordered = sorted(labels, key=routing_order)
    styles = styles_by_colour([routing_colour(label) for label in ordered], LINE_STYLES)
    return dict(zip(ordered, styles, strict=True))


def _scale_title(scale: str, rows: pd.DataFrame) -> str:
    seeds = rows["seed"].nunique()
    return f"scale {scale}, {seeds} seed{'s' if seeds > 1 else ''}"


def _add_legend(figure: "Figure", labels: list[str]) -> None:
    from matplotlib.lines import Line2D

    styles = _line_styles(labels)
    handles = [
        Line2D([], [], color=routing_colour(label), linestyle=styles[label], linewidth=2, label=label)
        for label in sorted(labels, key=routing_order)
    ]
    handles += [
        Line2D([], [], color="#555555", marker="o", markersize=4.5, linewidth=1.5, label="validation"),
        Line2D([], [], color="#555555", linewidth=0.6, label="training"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 5), frameon=False)
