"""The report's figures as files for a paper."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from lft.analysis.comparison import comparison_table
from lft.analysis.deployment import CONSTRAINTS, EXPORT_CONSTRAINTS, deployment_table, exports_table
from lft.analysis.figures import differences_by_routing
from lft.analysis.items import asked_tasks
from lft.analysis.orders import order_effects
from lft.analysis.pairs import pairs_table
from lft.analysis.records import read_records
from lft.analysis.report.charts import AXES
from lft.analysis.report.targets import check_baseline, check_folder
from lft.analysis.study_figures import (
    deviations_by_order,
    differences_by_budget,
    frontier,
    loss_bands,
    save_figure,
    task_forest,
)
from lft.analysis.tables import curves_table
from lft.analysis.task_differences import task_differences
from lft.errors import RequestError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_figures(location: str | Path, folder: Path, baseline: str = "standard") -> list[Path]:
    """Write every figure that the runs allow, as PNG and as SVG.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        folder: Where the files go; older ones of the same names are replaced.
        baseline: The routing to subtract.

    Raises:
        RequestError: No run is there, none is of the baseline, or the folder cannot be written.
    """
    check_folder(folder)
    curves = curves_table(location)
    check_baseline(baseline, [record.routing for record in read_records(location)], location)
    compare = cache(partial(comparison_table, location, baseline))
    drawings: dict[str, Callable[[], Figure]] = {
        f"{metric.removeprefix('val/')}_by_{x.split('/')[1]}": partial(loss_bands, curves, x, metric)
        for x in AXES
        for metric in ("val/loss", "val/bits_per_byte")
    }
    drawings |= {
        "differences_by_routing": lambda: differences_by_routing(compare(), pairs_table(location, baseline)),
        "differences_by_budget": lambda: differences_by_budget(compare()),
        "orders": lambda: deviations_by_order(order_effects(location)),
        "tasks": lambda: task_forest(task_differences(location, asked_tasks(location), baseline)),
    }
    for costs, names in (
        (deployment_table(location), CONSTRAINTS),
        (exports_table(location), EXPORT_CONSTRAINTS),
    ):
        drawings |= {f"frontier_{cost}": partial(frontier, costs, cost) for cost in names}
    written = []
    for name, draw in drawings.items():
        try:
            written += save_figure(draw(), folder, name)
        except RequestError:
            # What was not measured has no figure.
            continue
    return written
