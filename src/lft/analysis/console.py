"""Runs and comparisons as tables for people."""

import sys
from collections.abc import Callable, Hashable
from typing import Any, TextIO

import pandas as pd
from rich.markup import escape
from rich.table import Table

from lft.analysis.pairs import ONE_SEED
from lft.terminal import make_table, short, show

MISSING = "-"
RHO_LEGEND = "rho: share of the untied anchor's gain over the baseline that an arm keeps."
STATE_STYLES = {"done": "green", "failed": "red", "started": "yellow"}

Row = dict[Hashable, Any]
Columns = dict[str, Callable[[Row], str]]


def print_runs(table: pd.DataFrame, file: TextIO | None = None) -> None:
    """Print runs in the order of the table; the run's id too where the line has room for it.

    Args:
        table: Rows from `runs_table`.
        file: Where to print; standard output when not given.
    """
    file = file or sys.stdout
    rows = table.to_dict("records")
    show([_runs(rows, with_id=True), _runs(rows, with_id=False)], file)
    for row in rows:
        if row["state"] == "failed":
            print(f"{row['run_id']} failed: {row['failure']}", file=file)


def print_pairs(differences: pd.DataFrame, file: TextIO | None = None) -> None:
    """Print paired differences, and what each could not use.

    Args:
        differences: Rows from `paired_differences`.
        file: Where to print; standard output when not given.
    """
    columns: Columns = {
        "tokens": lambda row: short(row["budget_tokens"]),
        "pairs": lambda row: str(row["pairs"]),
        "difference": lambda row: _number(row["difference"], "+.4f"),
        "sd": lambda row: _number(row["standard_deviation"], ".4f"),
        "95 % interval": _interval,
    }
    _print_against_baseline(differences, columns, file or sys.stdout)


def print_comparison(comparison: pd.DataFrame, file: TextIO | None = None) -> None:
    """Print arms against their baseline, best first, with costs and recovery fraction.

    Args:
        comparison: Rows from `comparison_table`.
        file: Where to print; standard output when not given.
    """
    columns: Columns = {
        "tokens": lambda row: _count(row["train_tokens"]),
        "param-\neters": lambda row: _count(row["parameters"]),
        "steps": lambda row: _number(row["num_steps"], ".0f"),
        "FLOP\nratio": lambda row: _number(row["flop_ratio"], ".2f"),
        "pairs": lambda row: str(row["pairs"]),
        "difference": lambda row: _number(row["difference"], "+.4f"),
        "95 % interval": _interval,
        "rho": _rho,
    }
    _print_against_baseline(comparison, columns, file or sys.stdout, legend=RHO_LEGEND)


def _print_against_baseline(
    table: pd.DataFrame, columns: Columns, file: TextIO, legend: str | None = None
) -> None:
    if table.empty:
        print("no run but the baseline's: nothing to compare", file=file)
        return
    baseline = table["baseline"].iloc[0]
    print(f"Final validation loss minus that of {baseline}, in nats per token; below 0 is better.", file=file)
    if legend:
        print(legend, file=file)
    rows = table.to_dict("records")
    settings = ["settings"] if any(row["settings"] for row in rows) else []
    drawn = make_table(["routing", "scale"], list(columns), settings)
    for row in rows:
        words = [escape(row[name]) for name in ("routing", "scale")]
        drawn.add_row(
            *words, *(cell(row) for cell in columns.values()), *(escape(row[name]) for name in settings)
        )
    show([drawn], file)
    _print_missing_rho(rows, file)
    _print_remarks(rows, file)


def _print_missing_rho(rows: list[Row], file: TextIO) -> None:
    """Why there is no rho, once for all arms with the same reason."""
    arms: dict[str, list[str]] = {}
    for row in rows:
        if row.get("rho_note"):
            arms.setdefault(f"({_condition(row)}): {row['rho_note']}", []).append(row["routing"])
    for reason, names in arms.items():
        print(f"rho of {', '.join(names)} {reason}", file=file)


def _rho(row: Row) -> str:
    if pd.isna(row["rho"]):
        return MISSING
    return f"{row['rho']:.2f} ({row['rho_low']:.2f} to {row['rho_high']:.2f})"


def _interval(row: Row) -> str:
    if row["pairs"] < 2:
        return ONE_SEED if row["pairs"] == 1 else MISSING
    return f"{row['low']:+.4f} to {row['high']:+.4f}"


def _print_remarks(rows: list[Row], file: TextIO) -> None:
    for row in rows:
        remark = row["note"].removeprefix(ONE_SEED).removeprefix("; ")
        if remark:
            print(f"{row['routing']} {_condition(row)}: {remark}", file=file)


def _condition(row: Row) -> str:
    return f"{row['scale']} {short(row['budget_tokens'])} {row['settings']}".strip()


def _runs(rows: list[Row], with_id: bool) -> Table:
    numbers = ["seed", "param-\neters", "optim.\nsteps", "\ntokens", "val\nloss", "bits/\nbyte"]
    numbers += ["tokens\n/s", "FLOP\nratio"]
    table = make_table(["routing", "scale"], numbers, ["state", *(["run"] if with_id else [])])
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


def _state(row: Row) -> str:
    state = str(row["state"])
    style = STATE_STYLES.get(state, "")
    if state == "started" and not pd.isna(row["steps"]) and not pd.isna(row["planned_steps"]):
        state = f"at {row['steps'] / row['planned_steps']:.0%}"
    return f"[{style}]{state}[/]" if style else state


def _count(value: Any) -> str:
    return MISSING if pd.isna(value) else short(float(value))


def _number(value: Any, layout: str) -> str:
    return MISSING if pd.isna(value) else format(value, layout)
