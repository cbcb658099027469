"""Names for the rows of a table, as short as they can be and no two alike."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from lft.terminal import short

# Between the words of `settings`; a key of `run.json` holds a blank itself.
BETWEEN_SETTINGS = re.compile(r"(?<!run\.json) (?=(?:run\.json )?[\w.]+=)")
CONDITIONS = ("scale", "budget_tokens", "settings", "format", "machine", "tokens", "seed", "run")
# What may tell rows apart that are alike in all of these.
LAST_RESORTS = ("run_id", "num_steps", "parameters")


def row_names(table: pd.DataFrame, always: Sequence[str] = ("routing",)) -> list[str]:
    """What each row is called: its routing, and of its conditions those that vary over the table.

    Args:
        table: Any table of runs, arms or differences.
        always: Columns that are named whether they vary or not.
    """
    words = [[str(value) for value in row] for row in table[list(always)].itertuples(index=False)]
    for column in CONDITIONS:
        if column in table and _varies(table, column):
            for row, word in zip(words, _words(column, list(table[column])), strict=True):
                row.append(word)
    names = [", ".join(filter(None, row)) for row in words]
    for column in LAST_RESORTS:
        if column in table:
            names = _tell_apart(names, [f"{column} {value}" for value in table[column]])
    return _tell_apart(names, [f"row {place}" for place in range(1, len(names) + 1)])


def line_names(lines: Sequence[pd.DataFrame]) -> list[str]:
    """What each line of a chart is called, by its first row; see `row_names`."""
    return row_names(pd.concat([line.head(1) for line in lines], ignore_index=True))


def _varies(table: pd.DataFrame, column: str) -> bool:
    if table[column].nunique(dropna=False) < 2:
        return False
    if column == "tokens" and "budget_tokens" in table:
        # Where each budget ends is no news beside the budget.
        return bool(table.groupby("budget_tokens", dropna=False)[column].nunique(dropna=False).gt(1).any())
    return True


def _words(column: str, values: Sequence[Any]) -> list[str]:
    if column == "settings":
        return _differing_settings([str(value) for value in values])
    return ["" if pd.isna(value) else _word(column, value) for value in values]


def _word(column: str, value: Any) -> str:
    if column == "budget_tokens":
        return f"{short(value)} tokens"
    if column == "tokens":
        return f"at {short(value)} tokens"
    return f"seed {value}" if column == "seed" else str(value)


def _differing_settings(texts: Sequence[str]) -> list[str]:
    """The settings without those that all rows have, and without the groups of their keys."""
    split = [BETWEEN_SETTINGS.split(text) for text in texts]
    shared = set(split[0]).intersection(*split[1:])
    kept = [[word for word in words if word and word not in shared] for words in split]
    keys = {word.partition("=")[0] for words in kept for word in words}
    ends = Counter(key.rpartition(".")[2] for key in keys)

    def shorten(word: str) -> str:
        key, equals, value = word.partition("=")
        end = key.rpartition(".")[2]
        return f"{end if ends[end] == 1 else key}{equals}{value}"

    return [" ".join(map(shorten, words)) for words in kept]


def _tell_apart(names: list[str], more: Sequence[str]) -> list[str]:
    """The names, with more words where two are alike."""
    counts = Counter(names)
    return [f"{name}, {word}" if counts[name] > 1 else name for name, word in zip(names, more, strict=True)]
