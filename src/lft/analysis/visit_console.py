"""Tables of visits for people."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import pandas as pd
from rich.markup import escape

from lft.analysis.pairs import ARM_COLUMNS
from lft.analysis.records import read_records
from lft.analysis.visits import STEP_COLUMNS, visit_label
from lft.errors import RequestError
from lft.terminal import make_table, short, show


def print_visits(table: pd.DataFrame, file: TextIO | None = None) -> None:
    """Print numbers of visits: those of `gradient_changes` in the order of the steps, or of `skipped_steps`.

    Skipped steps come sorted, what is missed least first.

    Args:
        table: Rows of either.
        file: Where to print; standard output when not given.
    """
    if "error" in table:
        table = _least_first(table)
    visits = table.assign(visit=[visit_label(*address) for address in table[["block", "visit"]].to_numpy()])
    _print(visits.drop(columns="block"), ["visit"], file)


def print_routes(table: pd.DataFrame, file: TextIO | None = None) -> None:
    """Print what the loss rises by along other routes, the smallest rise first.

    Args:
        table: Rows from `other_routes`.
        file: Where to print; standard output when not given.
    """
    _print(_least_first(table), ["route"], file)


def print_unfinished(location: str | Path, file: TextIO | None = None) -> None:
    """Name the runs that tables of visits leave out, since they have not reached their end.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        file: Where to print; standard output when not given.
    """
    for record in read_records(location):
        if not record.is_done:
            print(f"left out: {record.folder.name} ({record.folder.state})", file=file or sys.stdout)


def figure_or_reason(draw: Callable[..., Any], *arguments: Any) -> Any:
    """A figure, or in words why there is nothing to draw."""
    try:
        return draw(*arguments)
    except RequestError as error:
        return str(error)


def _least_first(table: pd.DataFrame) -> pd.DataFrame:
    """Sorted by their mean within every arm."""
    arms = [arm.sort_values("mean") for _, arm in table.groupby(ARM_COLUMNS, sort=False)]
    return pd.concat(arms) if arms else table


def _print(table: pd.DataFrame, names: list[str], file: TextIO | None) -> None:
    file = file or sys.stdout
    if table.empty:
        print("no run has measured this", file=file)
        return
    settings = ["settings"] if any(table["settings"]) else []
    numbers = [name for name in table if name not in (*ARM_COLUMNS, *STEP_COLUMNS, *names)]
    drawn = make_table(["routing", "scale", *names], ["tokens", *map(str, numbers)], settings)
    for row in table.to_dict("records"):
        drawn.add_row(
            *(escape(str(row[name])) for name in ("routing", "scale", *names)),
            short(row["budget_tokens"]),
            *(_number(name, row[name]) for name in numbers),
            *(escape(row[name]) for name in settings),
        )
    show([drawn], file)


def _number(name: Any, value: Any) -> str:
    if pd.isna(value):
        return "-"
    return str(value) if name == "seeds" else f"{value:.4f}"
