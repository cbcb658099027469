"""What the report says, part by part: a heading, words, charts and tables."""

from collections.abc import Callable

from lft.analysis.bands import runs_left_out
from lft.analysis.comparison import comparison_table
from lft.analysis.crossings import crossings_table
from lft.analysis.deployment import CONSTRAINTS, EXPORT_CONSTRAINTS, deployment_table, exports_table
from lft.analysis.items import asked_tasks
from lft.analysis.names import row_names
from lft.analysis.orders import order_effects
from lft.analysis.pairs import pairs_table
from lft.analysis.recurrence import recurrence_table
from lft.analysis.report.charts import frontier_chart, interval_chart, loss_chart
from lft.analysis.report.claims import verdicts
from lft.analysis.report.provenance import configurations, origins
from lft.analysis.report.section import Runs, Section
from lft.analysis.task_differences import task_differences
from lft.analysis.task_scores import scores_table
from lft.analysis.two_way import differences_over_seeds
from lft.errors import RequestError
from lft.runs import VALIDATION


def losses(runs: Runs) -> Section:
    """Validation curves, a chart for each scale and metric."""
    words = [
        "Loss on text held out from training, as training goes on; lower is better. Lines are means over the "
        "finished seeds of an arm, shaded areas their 95 % intervals (for one seed there is none); where "
        "seeds were measured at different steps, each is a thin line. The buttons choose what the arms are "
        "held equal in: tokens, compute, time or energy. Click a name to hide it, double-click to see it "
        "alone."
    ]
    charts = []
    for scale, curves in runs.curves.groupby("scale", sort=False):
        for metric, name in (("val/loss", "validation loss (nats)"), ("val/bits_per_byte", "bits per byte")):
            if curves[metric].notna().any():
                charts.append(loss_chart(curves, metric, f"{scale}: {name}"))
    if not charts:
        return Section("Loss", ["No run has validated yet."])
    return Section("Loss", [*words, *runs_left_out(runs.runs)], charts)


def differences(runs: Runs) -> Section:
    """Every arm against the baseline."""
    table = comparison_table(runs.location, runs.baseline)
    words = [
        f"Final validation loss minus that of {runs.baseline}, in nats per token: left of zero is better. "
        "Only runs that are equal in everything but the arm are compared, seed by seed; a point is the mean "
        "over seeds, a line its 95 % interval (for one seed there is none). In the table, rho is the share "
        "of the gain of an untied model of as many steps (deep) that the arm keeps. Over seeds and sequences "
        "says how far the choice of validation text matters too."
    ]
    rows = table.to_dict("records")
    names = row_names(table)
    words += [f"{name}: {row['note']}" for name, row in zip(names, rows, strict=True) if row["note"]]
    drawn = table[table["pairs"] > 0]
    charts = []
    if len(drawn):
        charts = [interval_chart(drawn, row_names(drawn), "difference", "difference in nats")]
    over_both = differences_over_seeds(runs.location, [VALIDATION], runs.baseline)
    tables = {"Arms": table} | ({"Over seeds and sequences": over_both} if len(over_both) else {})
    return Section("Differences", words, charts, tables)


def crossings(runs: Runs) -> Section:
    """Where arms overtake the baseline."""
    pairs = pairs_table(runs.location, runs.baseline)
    tables = {
        name: crossings_table(runs.curves, pairs, x)
        for name, x in (("Along tokens", "train/tokens"), ("Along training FLOPs", "train/flops"))
    }
    words = [
        f"Where the mean validation curve of an arm crosses that of {runs.baseline}, in training tokens and "
        "in training FLOPs; from low to high are the places that the seeds leave possible (95 %). Within a "
        "run the learning rate has not decayed yet: runs of other budgets say more."
    ]
    return Section("Crossings", words, tables=tables)


def orders(runs: Runs) -> Section:
    """Routings of equal steps against their mean."""
    table = order_effects(runs.location)
    if table.empty:
        return Section(
            "Orders", ["No two routings of equal steps, parameters and tokens share a finished seed."]
        )
    words = [
        "Does the order of the blocks matter? Final validation loss of routings that have as many steps, "
        "parameters and tokens, minus the mean of them, seed by seed, in nats per token: left of zero is "
        "better than the others. A line is the 95 % interval over seeds; p_order tests that all orders are "
        "worth the same."
    ]
    chart = interval_chart(table, row_names(table), "deviation", "deviation in nats")
    return Section("Orders", words, [chart], {"Orders": table})


def recurrence(runs: Runs) -> Section:
    """The exponent of recurrence."""
    table = recurrence_table(runs.location)
    if table.empty:
        return Section("Recurrence", ["No run is done yet."])
    words = [
        "phi in N_eff = sum of visits^phi x block parameters, with a 95 % profile interval: k visits of a "
        "block are worth k^phi blocks of its size: at 0 further visits add nothing, at 1 each is worth a "
        "block of its own. Where the runs cannot tell, the note says so."
    ]
    return Section("Recurrence", words, tables={"Exponent": table})


def tasks(runs: Runs) -> Section:
    """Scores and paired differences, task by task."""
    asked = asked_tasks(runs.location)
    if not asked:
        return Section("Tasks", ["No run was asked tasks yet: `python src/eval.py`."])
    paired = task_differences(runs.location, asked, runs.baseline)
    drawn = paired[(paired["kind"] == "") & paired["share"].eq(True)]
    charts = []
    if len(drawn):
        settings = runs.runs.set_index("run_id")["settings"]
        named = drawn.assign(settings=drawn["run_id"].map(settings).fillna(""))
        names = row_names(named, always=("task", "metric", "routing"))
        charts = [interval_chart(drawn, names, "difference", "difference in accuracy")]
    words = [
        f"Accuracy minus that of {runs.baseline} on the same questions, run by run: right of zero is better. "
        "A line is the 95 % interval over questions; the table over seeds and items has that over both. "
        "Small models answer near chance; the validation loss is the primary outcome."
    ]
    tables = {
        "Over seeds and items": differences_over_seeds(runs.location, asked, runs.baseline),
        "Scores": scores_table(runs.location, asked),
        "Differences": paired,
    }
    return Section("Tasks", words, charts, tables)


def deployment(runs: Runs) -> Section:
    """Which arm is best under which constraint."""
    table = deployment_table(runs.location)
    if table.empty:
        return Section("Deployment", ["No run is done yet."])
    words = [
        "Final validation loss, averaged over finished seeds, against what an arm takes to keep, to run and "
        "to train: lower and further left is better. Filled: no other arm of the same settings has both a "
        "lower loss and no more of the cost. All runs are here, of whatever scale and budget; hover for "
        "which. A cost that no run recorded is not drawn."
    ]
    exports = exports_table(runs.location)
    if exports.empty:
        words.append("No finished run was exported: `python src/export.py` measures a model in use.")
    charts = [
        frontier_chart(costs, cost, name)
        for costs, names in ((table, CONSTRAINTS), (exports, EXPORT_CONSTRAINTS))
        for cost, name in names.items()
        if (costs[cost].notna() & costs["val_loss"].notna()).any()
    ]
    tables = {"Costs": table} | ({"Exports": exports} if len(exports) else {})
    return Section("Deployment", words, charts, tables)


def run_list(runs: Runs) -> Section:
    """All runs, and what went wrong."""
    failed = runs.runs[runs.runs["failure"].notna()]
    states = ", ".join(f"{count} {state}" for state, count in runs.runs["state"].value_counts().items())
    words = [f"{states.capitalize()}. Unfinished runs show the latest that they logged."]
    words += [f"{row['run_id']} failed: {row['failure']}" for row in failed.to_dict("records")]
    words += runs.remarks
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
    configurations,
    origins,
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
