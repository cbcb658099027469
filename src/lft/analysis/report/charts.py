"""Interactive charts: hover for numbers, click a name in the legend to hide it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from lft.analysis.bands import arms_of, seed_bands
from lft.analysis.figures import routing_colour
from lft.analysis.records import routing_order
from lft.terminal import short

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

AXES = {
    "train/tokens": "training tokens",
    "train/flops": "training FLOPs",
    "perf/seconds": "training seconds",
}
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
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
    """Mean validation curves of one scale and budget with seed bands; buttons choose the horizontal axis.

    Args:
        curves: Rows of `curves_table` of one scale.
        metric: A column of theirs, such as `val/loss`.
        name: The metric in words.
    """
    from plotly.graph_objects import Figure, Scatter

    axes = [x for x in AXES if curves[x].notna().any()]
    figure = Figure()
    shown: list[int] = []
    for place, x in enumerate(axes):
        bands = seed_bands(curves, x, metric)
        arms = arms_of(bands)
        labels = sorted(arms, key=routing_order)
        for label in labels:
            for trace in _band(arms[label], label, _dash(label, labels)):
                figure.add_trace(Scatter(**trace, visible=place == 0))
                shown.append(place)
    buttons = [
        {
            "label": AXES[x],
            "method": "update",
            "args": [{"visible": [owner == place for owner in shown]}, {"xaxis.title.text": AXES[x]}],
        }
        for place, x in enumerate(axes)
    ]
    # The chosen button is always light, so its words are always dark.
    colours = {"bgcolor": "#dddddd", "font": {"color": "#1a1a1a"}}
    place_of_menu = {"type": "buttons", "direction": "right", "x": 0, "y": 1.14, "xanchor": "left"}
    menu = {**place_of_menu, **colours, "buttons": buttons}
    figure.update_layout(**LAYOUT, updatemenus=[menu])
    figure.update_xaxes(title_text=AXES[axes[0]] if axes else "", gridcolor="rgba(128,128,128,0.25)")
    figure.update_yaxes(title_text=name, gridcolor="rgba(128,128,128,0.25)")
    return figure


def _band(rows: pd.DataFrame, label: str, dash: str) -> list[dict[str, Any]]:
    colour = routing_colour(label)
    line = {
        "x": rows["x"],
        "y": rows["mean"],
        "mode": "lines+markers",
        "name": label,
        "legendgroup": label,
        "line": {"color": colour, "dash": dash},
        "meta": colour,
        "customdata": rows[["seeds", "low", "high"]],
        "hovertemplate": (
            f"{label}<br>%{{y:.4f}} (%{{customdata[1]:.4f}} to %{{customdata[2]:.4f}}, "
            "%{customdata[0]} seeds)<br>at %{x:.4s}<extra></extra>"
        ),
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


def _dash(label: str, labels: Sequence[str]) -> str:
    """Solid for the first variant of a routing, another dash for each further one."""
    kin = [other for other in labels if other.split(" ")[0] == label.split(" ")[0]]
    return DASHES[kin.index(label) % len(DASHES)]


def interval_chart(
    rows: pd.DataFrame, names: Sequence[str], value: str, title: str, colours: Sequence[str]
) -> "Figure":
    """Values with 95 % intervals, one line each, and zero marked.

    Args:
        rows: With `low`, `high` and the value's column.
        names: What each row is called.
        value: The column of the values.
        title: What the horizontal axis shows.
        colours: One for each row.
    """
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    for place, row in enumerate(rows.to_dict("records")):
        figure.add_trace(
            Scatter(
                x=[row[value]],
                y=[names[place]],
                mode="markers",
                marker={"color": colours[place], "size": 9},
                meta=colours[place],
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": [row["high"] - row[value]],
                    "arrayminus": [row[value] - row["low"]],
                    "color": colours[place],
                },
                hovertemplate=(
                    f"%{{y}}<br>%{{x:+.4f}} ({row['low']:+.4f} to {row['high']:+.4f})<extra></extra>"
                ),
                showlegend=False,
            )
        )
    height = max(220, 90 + 26 * len(rows))
    figure.update_layout(**{**LAYOUT, "height": height, "margin": {**LAYOUT["margin"], "l": 170}})
    figure.add_vline(x=0, line={"color": "#888888", "width": 1})
    figure.update_xaxes(title_text=title, gridcolor="rgba(128,128,128,0.25)", zeroline=False)
    figure.update_yaxes(autorange="reversed", gridcolor="rgba(128,128,128,0.15)")
    return figure


def frontier_chart(table: pd.DataFrame, cost: str, name: str) -> "Figure":
    """Loss against one cost; arms on the frontier are filled."""
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    for label in sorted(table["routing"].unique(), key=routing_order):
        rows = table[table["routing"] == label]
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
                text=[
                    f"{row['scale']}, {short(row['budget_tokens'])} tokens {row['settings']}"
                    for row in rows.to_dict("records")
                ],
                hovertemplate=f"{label}<br>%{{text}}<br>loss %{{y:.4f}} at %{{x:.4s}}<extra></extra>",
            )
        )
    figure.update_layout(**LAYOUT)
    figure.update_xaxes(title_text=name, type="log", gridcolor="rgba(128,128,128,0.25)")
    figure.update_yaxes(title_text="validation loss (nats)", gridcolor="rgba(128,128,128,0.25)")
    return figure
