"""The claims that were written down before the runs, and what became of them."""

from typing import Any

from lft.analysis.names import row_names
from lft.analysis.report.section import Runs, Section, Verdict
from lft.analysis.verdicts import RULE, verdicts_table


def verdicts(runs: Runs) -> Section:
    """Claims and their outcomes."""
    table = verdicts_table(runs.location)
    if table.empty:
        none = "No claim was written down before these runs; sweeps may state some (`claims:`)."
        return Section("Verdicts", [none])
    names = row_names(table, always=("claim",))
    found = [_verdict(row, name) for row, name in zip(table.to_dict("records"), names, strict=True)]
    counts = ", ".join(f"{count} {outcome}" for outcome, count in table["outcome"].value_counts().items())
    words = [
        f"Claims that were written down before the runs: {counts}.",
        RULE,
        "In the table, benefit is how much better the arm was than its baseline, in the unit of the metric, "
        "with its 95 % interval from low to high; p_holm is the adjusted p.",
    ]
    return Section("Verdicts", words, tables={"Claims": table}, verdicts=found)


def _verdict(row: dict[Any, Any], name: str) -> Verdict:
    compared = f"{row['arm']} against {row['baseline']} by {row['metric']}"
    # Where pairs are missing, the reason counts them.
    of_plan = f"{row['planned']} pairs" if row["pairs"] == row["planned"] else ""
    reason = f"{name}: {', '.join(filter(None, [compared, of_plan]))}. {_sentence(row['reason'])}"
    return Verdict(row["outcome"], row["statement"], reason)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""
