"""The report as one HTML file that needs nothing else."""

import re
import warnings
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from lft.analysis.records import read_records, refuse_repeats
from lft.analysis.report.section import Runs, Section, cell_text
from lft.analysis.report.sections import sections
from lft.analysis.report.targets import check_baseline, check_page
from lft.analysis.tables import curves_table, runs_table
from lft.runs import write_text

if TYPE_CHECKING:
    from markupsafe import Markup


def write_report(location: str | Path, target: Path, baseline: str = "standard") -> None:
    """Write the report.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        target: The `.html` to write; an older report there is replaced.
        baseline: The routing to subtract.

    Raises:
        RequestError: No run is there, none is of the baseline, or the target cannot be written.
    """
    check_page(target)
    page = report_page(location, baseline)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, page)


def report_page(location: str | Path, baseline: str = "standard") -> str:
    """The page as text.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        baseline: The routing to subtract.

    Raises:
        RequestError: No run is there, one is there twice, or none is of the baseline.
    """
    from jinja2 import Environment
    from plotly.offline import get_plotlyjs

    # The same run twice would pass for a further seed in every band and table.
    refuse_repeats(read_records(location))
    with warnings.catch_warnings(record=True, action="always") as remarks:
        curves = curves_table(location)
    runs = Runs(location, baseline, runs_table(location), curves, [str(one.message) for one in remarks])
    check_baseline(baseline, runs.runs["routing"], location)
    parts = sections(runs)
    files = resources.files("lft.analysis.report")
    environment = Environment(autoescape=True)
    environment.filters |= {"with_code": _with_code, "breakable": _breakable}
    template = environment.from_string((files / "page.html").read_text("utf-8"))
    return template.render(
        title=f"Report on {len(runs.runs)} run{'s' if len(runs.runs) > 1 else ''}",
        location=str(location),
        version=metadata.version("layer-feedback-transformer"),
        style=(files / "page.css").read_text("utf-8"),
        script=(files / "page.js").read_text("utf-8"),
        plotly=get_plotlyjs() if any(part.charts for part in parts) else "",
        parts=[_as_data(number, part) for number, part in enumerate(parts)],
    )


def _with_code(text: str) -> "Markup":
    """Text in which what stands in backticks is code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _breakable(name: str) -> "Markup":
    """The name of a column, which may go on in another line behind each underscore."""
    from markupsafe import Markup, escape

    return Markup("_<wbr>").join(escape(word) for word in name.split("_"))


def _as_data(number: int, part: Section) -> dict[str, Any]:
    return {
        "id": f"part-{number}",
        "title": part.title,
        "verdicts": part.verdicts,
        "words": part.words,
        "charts": [(chart.to_json(), chart.layout.height) for chart in part.charts],
        "tables": {caption: _table_data(table) for caption, table in part.tables.items()},
    }


def _table_data(table: pd.DataFrame) -> dict[str, Any]:
    """Columns, and rows of pairs: what a cell shows, and what it is sorted by."""
    # Columns that say nothing only take room.
    used = [name for name in table if table[name].map(cell_text).ne("").any()] or list(table)
    numeric = {name: pd.api.types.is_numeric_dtype(table[name]) for name in used}
    rows = [[_cell(row[name], numeric[name]) for name in used] for row in table[used].to_dict("records")]
    # On paper, where room is short, a column of one value is a word above the table.
    same = [len(rows) > 1 and len({row[place][0] for row in rows}) == 1 for place in range(len(used))]
    columns = [
        {
            "name": str(name),
            "look": " ".join(["number"] * numeric[name] + ["constant"] * constant),
        }
        for name, constant in zip(used, same, strict=True)
    ]
    constants = [f"{name} {rows[0][place][0]}" for place, name in enumerate(used) if same[place]]
    return {"columns": columns, "rows": rows, "constants": ", ".join(constants)}


def _cell(value: Any, numeric: bool) -> tuple[str, Any]:
    return cell_text(value), value if numeric and not pd.isna(value) else ""
