"""Claims and what their runs say of them, by a rule that is fixed before anyone looks."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pandas as pd

from lft.analysis.effects import SIGNIFICANCE, Effect, holm, paired_effect, upper_bound
from lft.analysis.pairs import CONDITION_COLUMNS, pairs_table
from lft.analysis.records import read_records
from lft.errors import RequestError
from lft.runs import Claim

SUPPORTED, REFUTED, UNDECIDED = "supported", "refuted", "undecided"
RULE = (
    "A claim is supported when the Holm-adjusted p of the paired t test is below 5 % and the mean benefit is "
    "at least the smallest effect; refuted when the one-sided 95 % bound of the benefit lies below the "
    "smallest effect; undecided otherwise, and before the planned number of pairs is there."
)
VERDICT_COLUMNS = [
    "claim",
    "statement",
    "arm",
    "baseline",
    "metric",
    *CONDITION_COLUMNS,
    "outcome",
    "reason",
    "planned",
    "smallest_effect",
    "pairs",
    "benefit",
    "low",
    "high",
    "p_value",
    "p_holm",
    "seed_deviations",
    "same_sign",
    "detectable",
]
Row = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What is decided, and why in words."""

    outcome: str
    reason: str


def decide(claim: Claim, benefits: Sequence[float], p_holm: float) -> Outcome:
    """Apply the rule.

    Under no effect, a claim comes out as supported in at most 2.5 %; under the smallest effect, as refuted in
    at most 5 %.

    Args:
        claim: The claim.
        benefits: By how much the arm was better than the baseline, pair by pair.
        p_holm: p-value of the paired t test, adjusted for the other claims.
    """
    if len(benefits) < claim.seeds:
        return Outcome(UNDECIDED, f"{len(benefits)} of {claim.seeds} planned pairs")
    benefit, bound = mean(benefits), upper_bound(benefits)
    if p_holm < SIGNIFICANCE and benefit >= claim.smallest_effect:
        return Outcome(SUPPORTED, f"better by {benefit:.4g}, adjusted p {p_holm:.2g}")
    if bound < claim.smallest_effect:
        return Outcome(REFUTED, f"a benefit of {claim.smallest_effect:g} is excluded: at most {bound:.4g}")
    return Outcome(UNDECIDED, f"the benefit may be {bound:.4g}, adjusted p {p_holm:.2g}")


def claims_of(location: str | Path) -> dict[str, Claim]:
    """The claims that the runs were started for, by name.

    Raises:
        RequestError: No run is there, or two runs state one claim differently.
    """
    found: dict[str, Claim] = {}
    for record in read_records(location):
        for name, content in (record.config.get("claims") or {}).items():
            claim = Claim(**content)
            if found.setdefault(name, claim) != claim:
                raise RequestError(
                    f"{record.folder.path} states the claim '{name}' otherwise than the other runs; "
                    "give a location with one version of it"
                )
    return found


def verdicts_table(location: str | Path) -> pd.DataFrame:
    """What the runs say of each of their claims, under every condition in which both arms ran.

    Runs are pairs when all is equal but the arm, seed and data order included; pairs beyond the planned
    number are left out, by their seeds, so that nobody adds runs until a claim comes out. p-values are
    Holm-adjusted over all claims that have their pairs.

    Args:
        location: A folder of run folders, a glob, or a run folder.

    Returns:
        One row a claim and condition: the `outcome` with its `reason`, `benefit` (positive is better) with
        its 95 % t interval, `p_value` and `p_holm`, the benefit in standard deviations of the arms over seeds
        (`seed_deviations`), pairs of the same sign, and the `detectable` benefit.

    Raises:
        RequestError: No run is there, or claims contradict each other.
    """
    drafts = [
        (claim, row, benefits, effect)
        for name, claim in claims_of(location).items()
        for row, benefits, effect in _conditions(name, claim, location)
    ]
    enough = [
        effect.p_value if effect and effect.pairs >= claim.seeds else math.nan
        for claim, _, _, effect in drafts
    ]
    rows = []
    for (claim, row, benefits, effect), p_holm in zip(drafts, holm(enough), strict=True):
        outcome = decide(claim, benefits, p_holm)
        known = asdict(effect) if effect else {"pairs": 0}
        rows.append({**row, **known, **asdict(outcome), "benefit": known.get("mean"), "p_holm": p_holm})
    return pd.DataFrame(rows, columns=VERDICT_COLUMNS)


def _conditions(
    name: str, claim: Claim, location: str | Path
) -> list[tuple[Row, list[float], Effect | None]]:
    head = {
        "claim": name,
        "statement": claim.statement,
        "arm": claim.arm,
        "baseline": claim.baseline,
        "metric": claim.metric,
        "planned": claim.seeds,
        "smallest_effect": claim.smallest_effect,
    }
    try:
        pairs = pairs_table(location, claim.baseline, claim.metric)
    except RequestError:
        pairs = pd.DataFrame(columns=["routing", "problem"])
    paired = pairs[(pairs["routing"] == claim.arm) & (pairs["problem"] == "")]
    if paired.empty:
        return [({**head, "scale": "", "budget_tokens": pd.NA, "settings": ""}, [], None)]
    sign = -1.0 if claim.better == "lower" else 1.0
    found: list[tuple[Row, list[float], Effect | None]] = []
    for condition, rows in paired.groupby(CONDITION_COLUMNS, sort=False):
        assert isinstance(condition, tuple)
        decisive = rows.sort_values("seed").head(claim.seeds)
        benefits = [sign * float(value) for value in decisive["difference"]]
        effect = paired_effect(benefits)
        row = {**head, **dict(zip(CONDITION_COLUMNS, condition, strict=True))}
        found.append(({**row, "seed_deviations": _in_deviations(decisive, effect)}, benefits, effect))
    return found


def _in_deviations(rows: pd.DataFrame, effect: Effect) -> float:
    """The effect in pooled standard deviations of the two arms over seeds."""
    if effect.pairs < 2:
        return math.nan
    variances = [stdev(rows[column]) ** 2 for column in ("value", "baseline_value")]
    pooled = math.sqrt(mean(variances))
    return effect.mean / pooled if pooled else math.nan


def noise_floor(location: str | Path, reruns: str | Path, metric: str = "val_loss") -> pd.DataFrame:
    """How far apart runs of the same config and seed end, repeated in another folder.

    Args:
        location: Runs.
        reruns: The same runs, started again elsewhere (`paths.runs=...`).
        metric: A number of `summary.json`.

    Returns:
        One row a run that is done in both: `run_id`, `routing`, `seed`, both values and their `difference`.

    Raises:
        RequestError: A location has no run.
    """
    again = {record.folder.name: record for record in read_records(reruns) if record.is_done}
    rows = [
        {
            "run_id": record.folder.name,
            "routing": record.routing,
            "seed": record.seed,
            "value": record.summary[metric],
            "rerun_value": again[record.folder.name].summary[metric],
        }
        for record in read_records(location)
        if record.is_done and record.folder.name in again
    ]
    table = pd.DataFrame(rows, columns=["run_id", "routing", "seed", "value", "rerun_value"])
    return table.assign(difference=table["rerun_value"] - table["value"])
