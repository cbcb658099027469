"""What the report says, part by part: a heading, words, charts and tables."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from lft.analysis.comparison import comparison_table
from lft.analysis.crossings import crossings_table
from lft.analysis.deployment import CONSTRAINTS, deployment_table
from lft.analysis.figures import routing_colour
from lft.analysis.orders import order_effects
from lft.analysis.pairs import pairs_table
from lft.analysis.recurrence import recurrence_table
from lft.analysis.report.charts import frontier_chart, interval_chart, loss_chart
from lft.analysis.task_differences import task_differences
from lft.analysis.task_scores import scores_table
from lft.analysis.two_way import differences_over_seeds
from lft.analysis.verdicts import RULE, verdicts_table
from lft.errors import RequestError
from lft.terminal import short

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        title: Its heading.
        words: Paragraphs.
        charts: Drawn one below the other.
        tables: By their captions.
    """

    title: str
    words: Sequence[str] = ()
    charts: Sequence["Figure"] = ()
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Runs:
    """What every section is made of.

    Attributes:
        location: A folder of run folders, a glob, or a run folder.
        baseline: The routing to subtract.
        runs: Rows of `runs_table`.
        curves: Rows of `curves_table`.
    """

    location: str | Path
    baseline: str
    runs: pd.DataFrame
    curves: pd.DataFrame


def verdicts(runs: Runs) -> Section:
    """Claims and their outcomes."""
    table = verdicts_table(runs.location)
    if table.empty:
        words = "No claim was written down before these runs; sweeps may state some (`claims:`)."
        return Section("Verdicts", [words])
    return Section("Verdicts", [RULE], tables={"Claims": table})


def losses(runs: Runs) -> Section:
    """Validation curves, a chart for each scale and metric."""
    words = ["Means over seeds with 95 % bands. Click a name to hide it, double-click to see it alone."]
    charts = []
    for scale, curves in runs.curves.groupby("scale", sort=False):
        for metric, name in (("val/loss", "validation loss (nats)"), ("val/bits_per_byte", "bits per byte")):
            if curves[metric].notna().any():
                charts.append(loss_chart(curves, metric, f"{scale}: {name}"))
    if not charts:
        words = ["No run has validated yet."]
    return Section("Loss", words, charts)


def differences(runs: Runs) -> Section:
    """Every arm against the baseline."""
    table = comparison_table(runs.location, runs.baseline)
    words = [
        f"Final validation loss minus that of {runs.baseline}, paired over seeds, in nats per token: below "
        "zero is better. rho is the share of the untied anchor's gain that an arm keeps."
    ]
    rows = table.to_dict("records")
    words += sorted({f"{row['routing']}, {row['scale']}: {row['note']}" for row in rows if row["note"]})
    drawn = table[table["pairs"] > 0]
    charts = []
    if len(drawn):
        names = [
            f"{row['routing']}, {row['scale']}, {short(row['budget_tokens'])} {row['settings']}".strip()
            for row in drawn.to_dict("records")
        ]
        colours = [routing_colour(label) for label in drawn["routing"]]
        charts = [interval_chart(drawn, names, "difference", "difference in nats", colours)]
    return Section("Differences", words, charts, {"Arms": table})


def crossings(runs: Runs) -> Section:
    """Where arms overtake the baseline."""
    pairs = pairs_table(runs.location, runs.baseline)
    tables = {
        name: crossings_table(runs.curves, pairs, x)
        for name, x in (("Along tokens", "train/tokens"), ("Along training FLOPs", "train/flops"))
    }
    words = [
        "Where the validation curve of an arm crosses the baseline's, with the places that the seeds leave "
        "possible. Within a run the learning rate has not decayed yet: runs of other budgets say more."
    ]
    return Section("Crossings", words, tables=tables)


def orders(runs: Runs) -> Section:
    """Routings of equal steps against their mean."""
    table = order_effects(runs.location)
    if table.empty:
        return Section("Orders", ["No two routings of equal steps, parameters and tokens are done."])
    words = [
        "Routings with as many steps, parameters and tokens against their mean, in nats, seed by seed; "
        "p_order tests that all orders are worth the same."
    ]
    names = [f"{row['routing']}, {row['scale']}" for row in table.to_dict("records")]
    colours = [routing_colour(label) for label in table["routing"]]
    chart = interval_chart(table, names, "deviation", "deviation in nats", colours)
    return Section("Orders", words, [chart], {"Orders": table})


def recurrence(runs: Runs) -> Section:
    """The exponent of recurrence."""
    table = recurrence_table(runs.location)
    words = [
        "phi in N_eff = sum of visits^phi x block parameters, with a 95 % profile interval: k visits of a "
        "block are worth k^phi blocks of its size. 0 is nothing, 1 a block of its own. Where the runs cannot "
        "tell, the note says so."
    ]
    return Section("Recurrence", words, tables={"Exponent": table})


def tasks(runs: Runs) -> Section:
    """Scores and paired differences, task by task."""
    scores = scores_table(runs.location)
    if scores.empty:
        return Section("Tasks", ["No run was asked tasks yet: `python src/eval.py`."])
    paired = task_differences(runs.location, baseline=runs.baseline)
    drawn = paired[(paired["kind"] == "") & paired["share"].eq(True)]
    charts = []
    if len(drawn):
        names = [
            f"{row['task']} {row['metric']}, {row['routing']}, s{row['seed']}"
            for row in drawn.to_dict("records")
        ]
        colours = [routing_colour(label) for label in drawn["routing"]]
        charts = [
            interval_chart(drawn, names, "difference", "difference in accuracy, paired over items", colours)
        ]
    words = ["At these sizes accuracies sit near chance; validation loss is the primary outcome."]
    over_seeds = differences_over_seeds(runs.location, baseline=runs.baseline)
    tables = {"Over seeds and items": over_seeds, "Scores": scores, "Differences": paired}
    return Section("Tasks", words, charts, tables)


def deployment(runs: Runs) -> Section:
    """Which arm is best under which constraint."""
    table = deployment_table(runs.location)
    if table.empty:
        return Section("Deployment", ["No run is done yet."])
    words = ["Filled: no other arm has both a lower loss and no more of the cost."]
    charts = [frontier_chart(table, cost, name) for cost, name in CONSTRAINTS.items()]
    return Section("Deployment", words, charts, {"Costs": table})


def run_list(runs: Runs) -> Section:
    """All runs, and what went wrong."""
    failed = runs.runs[runs.runs["failure"].notna()]
    words = [f"{row['run_id']} failed: {row['failure']}" for row in failed.to_dict("records")]
    return Section("Runs", words, tables={"Runs": runs.runs})


PARTS: tuple[Callable[[Runs], Section], ...] = (
    verdicts,
    losses,
    differences,
    crossings,
    orders,
    recurrence,
    tasks,
    deployment,
    run_list,
)


def sections(runs: Runs) -> list[Section]:
    """Every part of the report; one that cannot be made says why."""
    made = []
    for part in PARTS:
        try:
            made.append(part(runs))
        except RequestError as error:
            made.append(Section(part.__name__.replace("_", " ").capitalize(), [f"Not shown: {error}"]))
    return made


def cell_text(value: Any) -> str:
    """A value as a table shows it."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.5g}" if abs(value) < 1e5 else f"{value:.4e}"
    return str(value)
