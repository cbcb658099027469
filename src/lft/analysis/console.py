"""Tables for people, on a terminal or down a pipe; no number is ever cut."""

import sys
from collections.abc import Hashable, Sequence
from typing import Any, TextIO

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lft.analysis.figures import token_count
from lft.analysis.pairs import ONE_SEED

MISSING = "-"
STATE_STYLES = {"done": "green", "failed": "red", "started": "yellow"}


def print_runs(table: pd.DataFrame, file: TextIO | None = None) -> None:
    """Print runs in the order of the table; the run's id too where the line has room for it.

    Args:
        table: Rows from `runs_table`.
        file: Where to print; standard output when not given.
    """
    file = file or sys.stdout
    rows = table.to_dict("records")
    _show([_runs(rows, with_id=True), _runs(rows, with_id=False)], file)
    for row in rows:
        if row["state"] == "failed":
            print(f"{row['run_id']} failed: {row['failure']}", file=file)


def print_pairs(differences: pd.DataFrame, file: TextIO | None = None) -> None:
    """Print paired differences, and what each could not use.

    Args:
        differences: Rows from `paired_differences`.
        file: Where to print; standard output when not given.
    """
    file = file or sys.stdout
    if differences.empty:
        print("no run but the baseline's: nothing to compare", file=file)
        return
    baseline = differences["baseline"].iloc[0]
    print(f"Final validation loss minus that of {baseline}, in nats per token; below 0 is better.", file=file)
    rows = differences.to_dict("records")
    several = any(row["settings"] for row in rows)
    numbers = ["tokens", "pairs", "difference", "sd", "95 % interval"]
    table = _table(["routing", "scale"], numbers, ["settings"] if several else [])
    for row in rows:
        interval = ONE_SEED if row["pairs"] == 1 else MISSING
        if row["pairs"] >= 2:
            interval = f"{row['low']:+.4f} to {row['high']:+.4f}"
        table.add_row(
            escape(row["routing"]),
            escape(row["scale"]),
            token_count(row["budget_tokens"]),
            str(row["pairs"]),
            _number(row["difference"], "+.4f"),
            _number(row["standard_deviation"], ".4f"),
            interval,
            *([escape(row["settings"])] if several else []),
        )
    _show([table], file)
    for row in rows:
        remark = row["note"].removeprefix(ONE_SEED).removeprefix("; ")
        if remark:
            name = f"{row['routing']} {row['scale']} {token_count(row['budget_tokens'])} {row['settings']}"
            print(f"{name.strip()}: {remark}", file=file)


def _runs(rows: list[dict[Hashable, Any]], with_id: bool) -> Table:
    numbers = ["seed", "param-\neters", "optim.\nsteps", "\ntokens", "val\nloss", "bits/\nbyte"]
    numbers += ["tokens\n/s", "FLOP\nratio"]
    table = _table(["routing", "scale"], numbers, ["state", *(["run"] if with_id else [])])
    for row in rows:
        cells = [
            escape(row["routing"]),
            escape(row["scale"]),
            str(row["seed"]),
            _count(row["parameters"]),
            _number(row["steps"], "d"),
            _count(row["train_tokens"]),
            _number(row["val_loss"], ".4f"),
            _number(row["val_bits_per_byte"], ".4f"),
            _number(row["tokens_per_second"], ",.0f"),
            _number(row["flop_ratio"], ".2f"),
            _state(row),
        ]
        table.add_row(*cells, *([row["run_id"]] if with_id else []))
    return table


def _state(row: dict[Hashable, Any]) -> str:
    state = str(row["state"])
    style = STATE_STYLES.get(state, "")
    if state == "started" and not pd.isna(row["steps"]) and not pd.isna(row["planned_steps"]):
        state = f"at {row['steps'] / row['planned_steps']:.0%}"
    return f"[{style}]{state}[/]" if style else state


def _table(words: Sequence[str], numbers: Sequence[str], last: Sequence[str] = ()) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", pad_edge=False)
    for name in words:
        table.add_column(name, no_wrap=True, vertical="bottom")
    for name in numbers:
        table.add_column(name, no_wrap=True, justify="right", vertical="bottom")
    for name in last:
        table.add_column(name, no_wrap=True, vertical="bottom")
    return table


def _show(tables: Sequence[Table], file: TextIO) -> None:
    """Print the first table that fits the line, or the last one whole on a longer line."""
    # In a notebook Rich would show the table there instead of writing it to the file.
    console = Console(file=file, highlight=False, force_jupyter=None if file is sys.stdout else False)
    widths = [
        console.measure(table, options=console.options.update(max_width=10_000)).maximum for table in tables
    ]
    fitting = [index for index, width in enumerate(widths) if width <= console.width]
    chosen = fitting[0] if fitting else len(tables) - 1
    # Rich would shorten cells to fit; a terminal that breaks the line loses nothing.
    console.width = max(console.width, widths[chosen])
    console.print(tables[chosen], soft_wrap=False)


def _count(value: Any) -> str:
    return MISSING if pd.isna(value) else token_count(float(value))


def _number(value: Any, layout: str) -> str:
    return MISSING if pd.isna(value) else format(value, layout)
