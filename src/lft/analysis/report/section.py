"""What the report is made of, and how it writes a value."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# Below it a whole number is a count, whatever its type; from it on only its size matters.
LARGEST_COUNT = 1e10


@dataclass(frozen=True)
class Verdict:
    """A claim and what became of it.

    Attributes:
        outcome: `supported`, `refuted` or `undecided`.
        statement: The claim in words.
        reason: What it was decided by.
    """

    outcome: str
    statement: str
    reason: str


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        title: Its heading.
        words: Paragraphs.
        charts: Drawn one below the other.
        tables: By their captions.
        verdicts: Shown above the words.
    """

    title: str
    words: Sequence[str] = ()
    charts: Sequence["Figure"] = ()
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    verdicts: Sequence[Verdict] = ()


@dataclass(frozen=True)
class Runs:
    """What every section is made of.

    Attributes:
        location: A folder of run folders, a glob, or a run folder.
        baseline: The routing to subtract.
        runs: Rows of `runs_table`.
        curves: Rows of `curves_table`.
        remarks: What was left out of the curves.
    """

    location: str | Path
    baseline: str
    runs: pd.DataFrame
    curves: pd.DataFrame
    remarks: Sequence[str] = ()


def cell_text(value: Any) -> str:
    """A value as a table shows it."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        # A count next to a missing one is a float.
        if value.is_integer() and abs(value) < LARGEST_COUNT:
            return str(int(value))
        return f"{value:.5g}" if abs(value) < 1e5 else f"{value:.4e}"
    return str(value)
