"""Interactive charts: hover for numbers, click a name in the legend to hide it."""

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import pandas as pd

from lft.analysis.bands import arms_of, seed_bands
from lft.analysis.figures import routing_colour, styles_by_colour
from lft.analysis.names import row_names
from lft.analysis.records import routing_order

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

AXES = {
    "train/tokens": "training tokens",
    "train/flops": "training FLOPs",
    "perf/seconds": "training seconds",
    "perf/joules": "training joules",
}
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
GRID = "rgba(128,128,128,0.25)"
# Characters to a line of a label, so that a phone has room for the plot beside it.
LABEL_WIDTH = 30
# Readable on white and on black; the yardstick's black turns white in the dark.
LAYOUT: dict[str, Any] = {
    "template": "none",
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"family": "system-ui, sans-serif", "size": 13},
    "margin": {"l": 60, "r": 16, "t": 40, "b": 50},
    "legend": {"orientation": "h", "y": -0.22},
    "height": 430,
}


def loss_chart(curves: pd.DataFrame, metric: str, name: str) -> "Figure":
    """Mean validation curves of one scale with seed bands; buttons choose the horizontal axis.

    Runs that are in no mean, as `seed_bands` says, are thin lines of their own.

    Args:
        curves: Rows of `curves_table` of one scale.
        metric: A column of theirs, such as `val/loss`.
        name: The metric in words.
    """
    from plotly.graph_objects import Figure, Scatter

    axes = [x for x in AXES if x in curves and curves[x].notna().any()]
    figure = Figure()
    shown: list[int] = []
    for place, x in enumerate(axes):
        arms = arms_of(seed_bands(curves, x, metric))
        colours = [routing_colour(rows["routing"].iloc[0]) for rows in arms.values()]
        for (label, rows), dash in zip(arms.items(), styles_by_colour(colours, DASHES), strict=True):
            for trace in _band(rows, label, dash):
                figure.add_trace(Scatter(**trace, visible=place == 0))
                shown.append(place)
    buttons = [
        {
            "label": AXES[x].removeprefix("training "),
            "method": "update",
            "args": [{"visible": [owner == place for owner in shown]}, {"xaxis.title.text": AXES[x]}],
        }
        for place, x in enumerate(axes)
    ]
    # The chosen button is always light, so its words are always dark.
    look = {"bgcolor": "#dddddd", "font": {"color": "#1a1a1a"}}
    place_of_menu = {"type": "buttons", "direction": "right", "x": 0, "y": 1.14, "xanchor": "left"}
    menu = {**place_of_menu, **look, "buttons": buttons}
    figure.update_layout(**LAYOUT, updatemenus=[menu])
    figure.update_xaxes(title_text=AXES[axes[0]] if axes else "", gridcolor=GRID)
    figure.update_yaxes(title_text=name, gridcolor=GRID)
    return figure


def _band(rows: pd.DataFrame, label: str, dash: str) -> list[dict[str, Any]]:
    colour, alone = routing_colour(rows["routing"].iloc[0]), bool(rows["run"].iloc[0])
    line = {
        "x": rows["x"],
        "y": rows["mean"],
        "mode": "lines+markers",
        "name": label,
        "legendgroup": label,
        "line": {"color": colour, "dash": dash, "width": 1 if alone else 2},
        "marker": {"color": colour, "size": 4 if alone else 6},
        "meta": colour,
        "customdata": rows[["seeds", "low", "high"]],
        "hovertemplate": f"{label}<br>%{{y:.4f}}{_seeds_text(rows)}<br>at %{{x:.4s}}<extra></extra>",
    }
    if rows["low"].isna().all():
        return [line]
    area = {
        "x": pd.concat([rows["x"], rows["x"][::-1]]),
        "y": pd.concat([rows["high"], rows["low"][::-1]]),
        "fill": "toself",
        "fillcolor": colour,
        "opacity": 0.15,
        "line": {"width": 0},
        "legendgroup": label,
        "showlegend": False,
        "hoverinfo": "skip",
        "meta": colour,
    }
    return [area, line]


def _seeds_text(rows: pd.DataFrame) -> str:
    if rows["low"].isna().all():
        return ""
    return " (%{customdata[1]:.4f} to %{customdata[2]:.4f}, %{customdata[0]} seeds)"


def interval_chart(rows: pd.DataFrame, names: Sequence[str], value: str, title: str) -> "Figure":
    """Values with 95 % intervals, one line each, and zero marked.

    Args:
        rows: With `routing`, `low`, `high` and the value's column.
        names: What each row is called, no two alike.
        value: The column of the values.
        title: What the horizontal axis shows.
    """
    from plotly.graph_objects import Figure, Scatter

    labels = ["<br>".join(wrap(name, LABEL_WIDTH)) for name in names]
    figure = Figure()
    for label, row in zip(labels, rows.to_dict("records"), strict=True):
        colour = routing_colour(row["routing"])
        known = pd.notna(row["low"])
        interval = f" ({row['low']:+.4f} to {row['high']:+.4f})" if known else " (no interval)"
        error = {
            "type": "data",
            "symmetric": False,
            "array": [row["high"] - row[value]],
            "arrayminus": [row[value] - row["low"]],
            "color": colour,
        }
        figure.add_trace(
            Scatter(
                x=[row[value]],
                y=[label],
                mode="markers",
                marker={"color": colour, "size": 9},
                meta=colour,
                error_x=error if known else None,
                hovertemplate=f"%{{y}}<br>%{{x:+.4f}}{interval}<extra></extra>",
                showlegend=False,
            )
        )
    height = 90 + sum(14 + 16 * (label.count("<br>") + 1) for label in labels)
    figure.update_layout(**{**LAYOUT, "height": max(220, height)})
    figure.add_vline(x=0, line={"color": "#888888", "width": 1})
    figure.update_xaxes(title_text=title, gridcolor=GRID, zeroline=False)
    figure.update_yaxes(autorange="reversed", automargin=True, gridcolor="rgba(128,128,128,0.15)")
    return figure


def frontier_chart(table: pd.DataFrame, cost: str, name: str) -> "Figure":
    """Loss against one cost; arms on the frontier are filled.

    Args:
        table: Rows of `deployment_table` or `exports_table`.
        cost: The column of the cost.
        name: The cost in words.
    """
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    drawn = table.dropna(subset=[cost, "val_loss"])
    drawn = drawn.assign(called=row_names(drawn))
    for label in sorted(drawn["routing"].unique(), key=routing_order):
        rows = drawn[drawn["routing"] == label]
        colour = routing_colour(label)
        symbols = ["circle" if best else "circle-open" for best in rows[f"{cost}_frontier"]]
        figure.add_trace(
            Scatter(
                x=rows[cost],
                y=rows["val_loss"],
                mode="markers",
                name=label,
                marker={"color": colour, "size": 11, "symbol": symbols},
                meta=colour,
                text=rows["called"],
                hovertemplate="%{text}<br>loss %{y:.4f} at %{x:.4s}<extra></extra>",
            )
        )
    figure.update_layout(**LAYOUT)
    figure.update_xaxes(title_text=name, type="log", gridcolor=GRID)
    figure.update_yaxes(title_text="validation loss (nats)", gridcolor=GRID)
    return figure
