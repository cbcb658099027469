"""Tables of tasks for people."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import pandas as pd
from rich.markup import escape

from lft.analysis.items import evaluations
from lft.analysis.task_differences import task_differences
from lft.analysis.task_scores import AVERAGE, scores_table
from lft.errors import RequestError
from lft.terminal import make_table, short, show

WORDS, COUNTS = ["task", "group", "metric", "routing", "scale"], ["tokens", "seed", "items"]
SCORES = """Scores with 95 % intervals over items. Accuracies in percent: higher is better; bits, nats and
perplexity: lower is better. The average counts each task once, by its own metric (acc_norm where there is
one)."""
DIFFERENCES = """Differences from {baseline}, paired over items, with 95 % intervals; accuracies in
percentage points. p: exact McNemar test; detectable: the true difference that so many items would show with
80 % power. They cover the choice of items, not that of seeds: another seed may differ by more."""
Row = dict[Any, Any]


def print_evaluations(
    location: str | Path,
    tasks: Sequence[str] = (),
    baseline: str = "standard",
    every_checkpoint: bool = False,
    file: TextIO | None = None,
) -> None:
    """Print what runs scored, task by task, and what paired runs differ by.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        tasks: Which tasks; all that were asked when empty.
        baseline: The routing to subtract.
        every_checkpoint: Whether to show all checkpoints, not the last evaluated one of each task alone.
        file: Where to print; standard output when not given.
    """
    file = file or sys.stdout
    scores = scores_table(location, tasks, every_checkpoint)
    if scores.empty:
        print("nothing was evaluated yet", file=file)
        return
    print(SCORES, file=file)
    _print_scores(scores, file)
    try:
        differences = task_differences(location, tasks, baseline, every_checkpoint)
    except RequestError as error:
        print(f"\nnot compared: {error}", file=file)
    else:
        if not differences.empty:
            print(file=file)
            _print_differences(differences, file)
    for evaluation in evaluations(location, tasks, every_checkpoint):
        for warning in evaluation.provenance.get("warnings", ()):
            print(f"{evaluation.run.folder.name}, {evaluation.task}: {warning}", file=file)


def _print_scores(scores: pd.DataFrame, file: TextIO) -> None:
    # Runs beside each other task by task; their averages stay last.
    places = {task: place for place, task in enumerate(dict.fromkeys(scores["task"]))}
    places[AVERAGE] = len(places)
    groups = list(dict.fromkeys(zip(scores["kind"], scores["group"], scores["metric"], strict=True)))
    order = sorted(
        scores.to_dict("records"),
        key=lambda row: (places[row["task"]], groups.index((row["kind"], row["group"], row["metric"]))),
    )
    table = make_table(WORDS, [*COUNTS, "value", "95 % interval", "chance"])
    for row in order:
        share = row["share"]
        table.add_row(
            *_head(row),
            _number(row["value"], share),
            _interval(row["low"], row["high"], share),
            _number(row["chance"], share),
        )
    show([table], file)


def _print_differences(differences: pd.DataFrame, file: TextIO) -> None:
    print(DIFFERENCES.format(baseline=differences["baseline"].iloc[0]), file=file)
    table = make_table(WORDS, [*COUNTS, "difference", "error", "95 % interval", "p", "detectable"])
    for row in differences.to_dict("records"):
        if row["problem"]:
            continue
        share = row["share"]
        table.add_row(
            *_head(row),
            _number(row["difference"], share, sign=True),
            _number(row["error"], share),
            _interval(row["low"], row["high"], share, sign=True),
            "-" if pd.isna(row["mcnemar_p"]) else f"{row['mcnemar_p']:.3f}",
            _number(row["detectable"], share),
        )
    show([table], file)
    for arm, other in differences[["run_id", "baseline_run_id"]].dropna().drop_duplicates().to_numpy():
        print(f"{arm} minus {other}", file=file)
    for row in differences[differences["problem"] != ""].to_dict("records"):
        print(f"not compared: {row['run_id']} {row['task']}: {row['problem']}", file=file)


def _head(row: Row) -> list[str]:
    words = [escape(str(row[name])) for name in WORDS]
    return [*words, short(row["tokens"]), str(row["seed"]), str(row["items"])]


def score_text(row: Row) -> str:
    """A row of `scores_table` in words: the value, its interval, and the level of chance."""
    share = row["share"]
    text = f"{_number(row['value'], share)}{' %' if share else ''} over {row['items']} items"
    if not pd.isna(row["low"]):
        text += f" (95 % interval {_interval(row['low'], row['high'], share)})"
    return text if pd.isna(row["chance"]) else f"{text}, chance {_number(row['chance'], share)} %"


def _interval(low: float, high: float, share: bool, sign: bool = False) -> str:
    if pd.isna(low):
        return "-"
    return f"{_number(low, share, sign)} to {_number(high, share, sign)}"


def _number(value: float, share: bool, sign: bool = False) -> str:
    if pd.isna(value):
        return "-"
    mark = "+" if sign else ""
    return format(100 * value, f"{mark}.2f") if share else format(value, f"{mark}.4g")
