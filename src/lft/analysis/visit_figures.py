"""Figures of visits: where the gradient is over training, whether visits agree, what each step is worth."""

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lft.analysis.arm_panels import arm_panels, arm_title, condition_label
from lft.analysis.figures import LOG_SPREAD, new_figure, routing_colour, tidy
from lft.analysis.pairs import ARM_COLUMNS, CONDITION_COLUMNS
from lft.analysis.visits import (
    last_readings,
    other_routes,
    select,
    skipped_steps,
    visit_label,
    visit_pairs,
)
from lft.errors import RequestError
from lft.terminal import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

STATISTIC_NAMES = {
    "gradient_share": "share of the block's gradient",
    "gradient_norm": "gradient norm",
    "gradient_sum_cosine": "cosine with the summed gradient",
    "adamw_share": "share of the block's AdamW update",
    "residual_rms": "RMS of the residual stream",
    "update_ratio": "update norm / input norm",
    "update_previous_cosine": "cosine with the previous visit's update",
    "input_output_cosine": "cosine of input and output",
    "attention_entropy": "attention entropy (nats)",
    "readout_loss": "loss read out after the step (nats)",
    "skip_difference": "rise of the loss without the step (nats)",
}

# Visits of a block up to which the numbers are written into its matrix.
LARGEST_WRITTEN = 5
# Characters of an arm's name beside its row of matrices.
LABEL_WIDTH = 26


def visit_heat_map(visits: pd.DataFrame, statistic: str = "gradient_share") -> "Figure":
    """Draw a statistic of every visit over training, a panel for each arm, averaged over its seeds.

    Args:
        visits: Rows from `visits_table`.
        statistic: One that visits have, such as `gradient_share` or `update_ratio`.

    Raises:
        RequestError: No run has this statistic.
    """
    rows = _required(select(visits, statistic).dropna(subset=["visit"]), statistic)
    colours = _colour_scale(rows["value"], statistic)
    figure, panels = arm_panels(
        rows, lambda arm: 1.3 + 0.22 * arm.groupby(["block", "visit"]).ngroups, share_heights=False
    )
    for panel, arm in panels:
        table = arm.pivot_table(index=["block", "visit"], columns="tokens", values="value", sort=True)
        image = panel.imshow(
            table.to_numpy(), aspect="auto", cmap="viridis", norm=colours, interpolation="nearest"
        )
        panel.set_yticks(range(len(table)), [visit_label(*address) for address in table.index], fontsize=8)
        moments = [int(tokens) for tokens in table.columns.to_list()]
        places = sorted({0, len(moments) // 2, len(moments) - 1})
        panel.set_xticks(places, [short(moments[place]) for place in places])
        panel.set_xlabel("training tokens")
        panel.set_ylabel("block·visit")
    figure.colorbar(image, ax=figure.axes, label=STATISTIC_NAMES.get(statistic, statistic), shrink=0.8)
    return figure


def visit_cosines(visits: pd.DataFrame, statistic: str = "gradient", part: str = "block") -> "Figure":
    """Draw how the gradients of a block's visits agree at the end of training: a matrix for each block.

    One row of matrices for each arm, averaged over its seeds; blue agrees, red works against.

    Args:
        visits: Rows from `visits_table`.
        statistic: `gradient`, or `adamw` for gradients under the optimizer's metric.
        part: The block, or `attention`, `mlp` or `norms`.

    Raises:
        RequestError: No run revisits a block.
    """
    pairs = visit_pairs(visits, statistic, part)
    if pairs.empty:
        raise RequestError("no run revisits a block; there are no pairs of visits to compare")
    arms = list(pairs.groupby(ARM_COLUMNS, sort=False))
    columns = max(arm["block"].nunique() for _, arm in arms)
    figure = new_figure(1.2 + 1.7 * columns, 0.7 + 1.9 * len(arms))
    grid = figure.subplots(len(arms), columns, squeeze=False)
    for (_, arm), panels in zip(arms, grid, strict=True):
        blocks = list(arm.groupby("block"))
        for panel in panels[len(blocks) :]:
            panel.set_visible(False)
        for panel, (block, rows) in zip(panels, blocks, strict=False):
            image = _draw_cosines(panel, rows)
            panel.set_title(f"block {block}", fontsize=9)
        panels[0].set_ylabel(textwrap.fill(arm_title(arm, " "), LABEL_WIDTH), fontsize=7)
    label = "cosine between gradients" + (" under AdamW" if statistic == "adamw" else "")
    figure.colorbar(image, ax=grid, label=label, shrink=0.8)
    return figure


def loss_by_step(visits: pd.DataFrame) -> "Figure":
    """Draw the loss when the head reads the residual stream after every step, from early to late training.

    A panel for each arm, averaged over its seeds; the marks name the blocks.

    Raises:
        RequestError: No run has been probed.
    """
    from matplotlib import colormaps

    rows = _required(select(visits, "readout_loss"), "readout_loss")
    figure, panels = arm_panels(rows, lambda arm: 3.6, widen=lambda arm: 2.6 + 0.24 * arm["step"].nunique())
    for panel, arm in panels:
        arm = _along_last_route(arm)
        moments = sorted(arm["tokens"].unique())
        for place in sorted({0, len(moments) // 4, len(moments) // 2, len(moments) - 1}):
            curve = arm[arm["tokens"] == moments[place]].groupby("step")["value"].mean()
            colour = colormaps["viridis"](0.9 * place / max(1, len(moments) - 1))
            panel.plot(curve.index, curve, ".-", color=colour, label=f"{short(moments[place])} tokens")
        steps = arm.dropna(subset=["block"]).drop_duplicates("step").sort_values("step")
        panel.set_xticks([0, *steps["step"]], ["emb", *steps["block"].astype(str)], fontsize=8)
        panel.set_xlabel("block of the step")
        panel.legend(frameon=False, fontsize=8)
        tidy(panel)
    panels[0][0].set_ylabel(STATISTIC_NAMES["readout_loss"])
    return figure


def losses_without(visits: pd.DataFrame) -> "Figure":
    """Draw what the loss rises by when a step is skipped, and along other routes, at the last milestone.

    A panel for each arm; lines are two standard errors to each side.

    Raises:
        RequestError: No run has knock-outs.
    """
    skipped = _required(skipped_steps(visits), "skip_difference")
    routes = other_routes(visits)
    figure, panels = arm_panels(skipped, lambda arm: 3.6, widen=lambda arm: 3.2 + 0.24 * len(arm))
    for panel, arm in panels:
        same = (routes[ARM_COLUMNS] == arm[ARM_COLUMNS].iloc[0]).all(axis=1)
        labels = [visit_label(*address) for address in arm[["block", "visit"]].to_numpy()]
        bars = pd.concat([arm[["mean", "error"]], routes.loc[same, ["mean", "error"]]])
        labels += list(routes.loc[same, "route"])
        colours = [routing_colour(arm["routing"].iloc[0])] * len(arm) + ["#999999"] * int(same.sum())
        # A logarithm would hide which steps the model does better without.
        panel.bar(
            range(len(bars)),
            bars["mean"],
            yerr=2 * bars["error"].fillna(0.0),
            color=colours,
            ecolor="#888888",
        )
        panel.set_yscale("symlog", linthresh=0.01)
        panel.axhline(0, color="#000000", linewidth=0.8)
        panel.set_xticks(range(len(bars)), labels, rotation=90, fontsize=8)
        panel.set_xlabel("skipped block·visit, then other routes")
        tidy(panel)
    panels[0][0].set_ylabel("rise of the loss ± 2 standard errors\n(nats; logarithmic beyond 0.01)")
    return figure


def share_across_scales(visits: pd.DataFrame, statistic: str = "gradient_share") -> "Figure":
    """Draw a statistic at the end of training against depth, a panel for each routing.

    Depth is the step's place among all steps, from 0 to 1, so that scales lie upon each other; thin lines
    are seeds.

    Raises:
        RequestError: No run has this statistic.
    """
    from matplotlib import colormaps

    rows = _required(last_readings(visits, statistic).dropna(subset=["visit"]), statistic)
    # The file holds gradients by block, lines go from step to step.
    rows = rows.sort_values("step", kind="stable")
    arms = [(name, rows[rows["routing"] == name]) for name in dict.fromkeys(visits["routing"])]
    arms = [(name, of_routing) for name, of_routing in arms if len(of_routing)]
    figure = new_figure(1.5 + 4.0 * len(arms), 3.8)
    panels = figure.subplots(1, len(arms), squeeze=False, sharey=True)[0]
    for panel, (routing, of_routing) in zip(panels, arms, strict=True):
        scales = list(of_routing.groupby(CONDITION_COLUMNS, sort=False))
        for number, (_, of_scale) in enumerate(scales):
            colour = colormaps["viridis"](0.85 * number / max(1, len(scales) - 1))
            for _, run in of_scale.groupby("seed"):
                panel.plot(_depth(run["step"]), run["value"], color=colour, linewidth=0.6, alpha=0.6)
            mean = of_scale.groupby("step")["value"].mean().reset_index()
            panel.plot(
                _depth(mean["step"]),
                mean["value"],
                ".-",
                color=colour,
                label=condition_label(of_scale.iloc[0]),
            )
        panel.set_title(str(routing), fontsize=10)
        panel.set_xlabel("depth of the step")
        panel.legend(frameon=False, fontsize=8)
        tidy(panel)
    panels[0].set_ylabel(STATISTIC_NAMES.get(statistic, statistic))
    return figure


def _required(rows: pd.DataFrame, statistic: str) -> pd.DataFrame:
    if rows.empty:
        raise RequestError(f"no run has measured {statistic}; train with diagnostics=default")
    return rows


def _colour_scale(values: pd.Series, statistic: str) -> "Normalize":
    """Shares from 0 to 1, other numbers over their range, by the logarithm where that is wide."""
    from matplotlib.colors import LogNorm, Normalize

    if statistic.endswith("_share"):
        return Normalize(0.0, 1.0)
    low, high = values.min(), values.max()
    return LogNorm(low, high) if low > 0 and high / low > LOG_SPREAD else Normalize(low, high)


def _along_last_route(arm: pd.DataFrame) -> pd.DataFrame:
    """The moments at which the arm ran the route it ended with; others come where feedback starts late."""
    steps = arm.groupby("tokens")["step"].max()
    return arm[arm["tokens"].isin(steps.index[steps == steps.iloc[-1]])]


def _draw_cosines(panel: "Axes", rows: pd.DataFrame) -> Any:
    size = int(rows["other_visit"].max())
    matrix = np.full((size, size), np.nan)
    np.fill_diagonal(matrix, 1.0)
    for first, second, cosine in rows[["visit", "other_visit", "mean"]].to_numpy(dtype=float):
        places = int(first) - 1, int(second) - 1
        matrix[places] = matrix[places[::-1]] = cosine
        if size <= LARGEST_WRITTEN:
            colour = "white" if abs(cosine) > 0.6 else "black"
            for x, y in (places, places[::-1]):
                panel.text(x, y, f"{cosine:.2f}", ha="center", va="center", fontsize=7, color=colour)
    image = panel.imshow(matrix, cmap="RdBu", vmin=-1, vmax=1)
    visits = [str(visit) for visit in range(1, size + 1)]
    panel.set_xticks(range(size), visits, fontsize=7)
    panel.set_yticks(range(size), visits, fontsize=7)
    panel.set_xlabel("visit", fontsize=8)
    return image


def _depth(steps: pd.Series) -> pd.Series:
    return (steps - 1) / max(1, steps.max() - 1)
