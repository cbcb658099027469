"""Many arms against one baseline: the difference, the cost, and the share of the anchor's gain."""

import math
from pathlib import Path
from statistics import mean
from typing import Any

import pandas as pd

from lft.analysis.arms import MATCH_WORD, ArmLabel
from lft.analysis.intervals import ratio_interval, t_interval
from lft.analysis.pairs import CONDITION_COLUMNS, GROUP_COLUMNS, pairs_table, summarize_pairs
from lft.analysis.tables import runs_table

COST_COLUMNS = ["train_tokens", "parameters", "num_steps", "steps_ratio", "flop_ratio"]
COMPARISON_COLUMNS = [
    *GROUP_COLUMNS,
    *COST_COLUMNS,
    "pairs",
    "difference",
    "standard_deviation",
    "low",
    "high",
    "rho",
    "rho_low",
    "rho_high",
    "rho_note",
    "note",
]


def comparison_table(location: str | Path, baseline: str = "standard", anchor: str = "deep") -> pd.DataFrame:
    """Every arm against the baseline, best first, with its costs and its recovery fraction.

    The recovery fraction rho = (L_baseline - L_arm) / (L_baseline - L_anchor) says how much of the gain of
    the untied twin of as many steps an arm keeps with shared weights. It is not defined where the anchor does
    not beat the baseline by more than noise: where the 95 % interval of its gain reaches zero, or one seed
    leaves noise unknown. Its interval is Fieller's (1954) for a ratio of paired means.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        baseline: The routing to subtract, as `runs_table` names it.
        anchor: The untied routing whose gain counts as 1, trained the usual way, in the variant of as many
            steps as the arm.

    Returns:
        The rows of `paired_differences`, with the costs of the arm as `runs_table` has them, and `rho` with
        its interval from `rho_low` to `rho_high`; where these are NaN, `rho_note` says why.

    Raises:
        RequestError: No run, or no run of the baseline, is there.
    """
    pairs = pairs_table(location, baseline)
    differences = summarize_pairs(pairs)
    costs = runs_table(location).set_index("run_id")[COST_COLUMNS]
    pairs = pairs[pairs["problem"] == ""].join(costs["num_steps"], on="run_id")
    rows = []
    for row in differences.to_dict("records"):
        condition = [row[column] for column in CONDITION_COLUMNS]
        here = pairs[(pairs[CONDITION_COLUMNS] == condition).all(axis=1)]
        arm = here[here["routing"] == row["routing"]]
        cost = costs.loc[arm["run_id"].iloc[0]].to_dict() if len(arm) else {}
        as_deep = here[here["num_steps"] == cost.get("num_steps")]
        recovery = _recovery(row["routing"], arm, as_deep, anchor)
        rows.append({**row, **cost, **recovery})
    table = pd.DataFrame(rows, columns=COMPARISON_COLUMNS)
    order = pd.factorize(table["scale"])[0]
    return (
        table.assign(order=order)
        .sort_values(["order", "budget_tokens", "settings", "difference"], ignore_index=True)
        .drop(columns="order")
    )


def _recovery(routing: str, arm: pd.DataFrame, as_deep: pd.DataFrame, name: str) -> dict[str, Any]:
    """rho over the seeds that an arm shares with the anchor among those of as many steps."""
    label = ArmLabel.parse(routing)
    anchors = _anchors(label, as_deep, name)
    anchor = as_deep[as_deep["routing"].isin(anchors)]
    gains = {int(row["seed"]): -row["difference"] for row in arm.to_dict("records")}
    anchor_gains = {int(row["seed"]): -row["difference"] for row in anchor.to_dict("records")}
    seeds = sorted(gains.keys() & anchor_gains.keys())
    nothing = {"rho": math.nan, "rho_low": math.nan, "rho_high": math.nan}
    if MATCH_WORD in label.conditions:
        return {**nothing, "rho_note": f"not defined for matched arms: {name} saw another number of tokens"}
    if len(anchors) > 1:
        return {**nothing, "rho_note": f"not defined: {' and '.join(anchors)} both have as many steps"}
    if not seeds:
        return {**nothing, "rho_note": f"not defined: no {name} run of as many steps and the same seeds"}
    ours, theirs = [gains[seed] for seed in seeds], [anchor_gains[seed] for seed in seeds]
    if mean(theirs) <= 0:
        return {**nothing, "rho_note": f"not defined: {name} does not beat the baseline"}
    if len(seeds) == 1:
        return {**nothing, "rho_note": "not defined: one seed leaves the noise unknown"}
    if t_interval(theirs)[0] <= 0:
        return {**nothing, "rho_note": f"not defined: {name} beats the baseline by no more than noise"}
    low, high = ratio_interval(ours, theirs)
    return {"rho": mean(ours) / mean(theirs), "rho_low": low, "rho_high": high, "rho_note": ""}


def _anchors(arm: ArmLabel, as_deep: pd.DataFrame, name: str) -> list[str]:
    """The anchor's labels among those of as many steps: the one with the arm's options, or else all."""
    labels = {str(label): ArmLabel.parse(str(label)) for label in as_deep["routing"].unique()}
    plain = {text: label for text, label in labels.items() if label.family == name and not label.conditions}
    alike = [text for text, label in plain.items() if label.options == arm.options]
    return alike or sorted(plain)
