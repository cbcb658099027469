"""Tables for people, on a terminal or down a pipe; no number is ever cut."""

import sys
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table


def make_table(words: Sequence[str], numbers: Sequence[str], last: Sequence[str] = ()) -> Table:
    """An empty table.

    Args:
        words: Headings of the first columns, set to the left.
        numbers: Headings of the columns behind them, set to the right.
        last: Headings of the last columns, set to the left.
    """
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", pad_edge=False)
    for name in words:
        table.add_column(name, no_wrap=True, vertical="bottom")
    for name in numbers:
        table.add_column(name, no_wrap=True, justify="right", vertical="bottom")
    for name in last:
        table.add_column(name, no_wrap=True, vertical="bottom")
    return table


def show(tables: Sequence[Table], file: TextIO | None = None) -> None:
    """Print the first table that fits the line, or the last one whole on a longer line."""
    file = file or sys.stdout
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


def short(value: float) -> str:
    """A count in three figures: 500M, 1.2B, 40k."""
    for suffix, unit in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{suffix}"
    return f"{value:.3g}"
