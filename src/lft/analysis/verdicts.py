"""Claims and what their runs say of them, by a rule that is fixed before anyone looks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pandas as pd

from lft.analysis.effects import SIGNIFICANCE, Effect, detectable_benefit, holm, paired_effect, upper_bound
from lft.analysis.pairs import CONDITION_COLUMNS, pairs_table
from lft.analysis.records import RunRecord, read_records, refuse_repeats, setting_labels
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


def decide(claim: Claim, benefits: Sequence[float], p_holm: float, problems: str = "") -> Outcome:
    """Apply the rule.

    Under no effect, a claim comes out as supported in at most 2.5 %; under the smallest effect, as refuted in
    at most 5 %.

    Args:
        claim: The claim.
        benefits: By how much the arm was better than the baseline, pair by pair.
        p_holm: p-value of the paired t test, adjusted for the other claims.
        problems: Why planned pairs are missing.
    """
    if len(benefits) < claim.seeds:
        return Outcome(
            UNDECIDED, "; ".join(filter(None, [f"{len(benefits)} of {claim.seeds} planned pairs", problems]))
        )
    benefit, bound = mean(benefits), upper_bound(benefits)
    if p_holm < SIGNIFICANCE and benefit >= claim.smallest_effect:
        return Outcome(SUPPORTED, f"better by {benefit:.4g}, adjusted p {p_holm:.2g}")
    if bound < claim.smallest_effect:
        return Outcome(REFUTED, f"a benefit of {claim.smallest_effect:g} is excluded: at most {bound:.4g}")
    return Outcome(UNDECIDED, f"the benefit may be {bound:.4g}, adjusted p {p_holm:.2g}")


def claims_of(location: str | Path) -> dict[str, Claim]:
    """The claims that the runs were started for, by name.

    Raises:
        RequestError: No run is there, a claim is damaged, or two runs state one claim differently.
    """
    found: dict[str, Claim] = {}
    for record in read_records(location):
        for name, content in _stated(record).items():
            claim = _claim(record, name, content)
            if found.setdefault(name, claim) != claim:
                raise RequestError(
                    f"{record.folder.path} states the claim '{name}' otherwise than the other runs; "
                    "give a location with one version of it"
                )
    return found


def _stated(record: RunRecord) -> dict[str, Any]:
    stated = record.config.get("claims") or {}
    if not isinstance(stated, dict):
        raise RequestError(f"{record.folder.path}: its claims are damaged; they must be named")
    return stated


def _claim(record: RunRecord, name: str, content: Any) -> Claim:
    try:
        return Claim(**content)
    except (TypeError, RequestError) as error:
        raise RequestError(f"{record.folder.path}: the claim '{name}' is damaged ({error})") from error


@dataclass(frozen=True)
class Draft:
    """A claim under one condition, before the other claims are known.

    Attributes:
        claim: The claim.
        row: Columns that say which claim and condition it is.
        pairs: The planned pairs that are there, rows of `pairs_table`.
        problems: Why planned pairs are missing.
    """

    claim: Claim
    row: Row
    pairs: pd.DataFrame
    problems: str

    @property
    def benefits(self) -> list[float]:
        """By how much the arm was better, pair by pair."""
        sign = -1.0 if self.claim.better == "lower" else 1.0
        return [sign * float(value) for value in self.pairs["difference"]]


def verdicts_table(location: str | Path) -> pd.DataFrame:
    """What the runs say of each of their claims, under every condition in which the arm ran.

    Runs are pairs when all is equal but the arm, seed and data order included. The planned number of seeds
    are the lowest ones that either arm was started with; count them from 0 on. A further pair never takes the
    place of one that failed, so that nobody adds runs until a claim comes out. p-values are Holm-adjusted
    over all claims and conditions, also those that wait for their pairs.

    Args:
        location: A folder of run folders, a glob, or a run folder.

    Returns:
        One row a claim and condition: the `outcome` with its `reason`, `benefit` (positive is better) with
        its 95 % t interval, `p_value` and `p_holm`, the benefit in standard deviations of the arms over seeds
        (`seed_deviations`), pairs of the same sign, and the `detectable` benefit: one that would have come
        out as supported with 80 % power.

    Raises:
        RequestError: No run is there, one is there twice, or claims are damaged or contradict each other.
    """
    records = read_records(location)
    refuse_repeats(records)
    drafts = [
        draft
        for name, claim in claims_of(location).items()
        for draft in _drafts(name, claim, location, records)
    ]
    effects = [paired_effect(draft.benefits) if len(draft.pairs) else None for draft in drafts]
    p_values = [
        effect.p_value if effect and effect.pairs >= draft.claim.seeds else math.nan
        for draft, effect in zip(drafts, effects, strict=True)
    ]
    rows = []
    for draft, effect, p_holm in zip(drafts, effects, holm(p_values), strict=True):
        outcome = asdict(decide(draft.claim, draft.benefits, p_holm, draft.problems))
        numbers = _numbers(draft, effect, len(drafts)) if effect else {"pairs": 0}
        rows.append({**draft.row, **numbers, **outcome, "p_holm": p_holm})
    return pd.DataFrame(rows, columns=VERDICT_COLUMNS)


def _numbers(draft: Draft, effect: Effect, comparisons: int) -> Row:
    spread, smallest = effect.standard_deviation, draft.claim.smallest_effect
    known = {**asdict(effect), "benefit": effect.mean, "seed_deviations": _in_deviations(draft.pairs, effect)}
    if effect.pairs >= 2:
        known["detectable"] = detectable_benefit(spread, effect.pairs, smallest, comparisons)
    return known


def _drafts(name: str, claim: Claim, location: str | Path, records: Sequence[RunRecord]) -> list[Draft]:
    row = {
        "claim": name,
        "statement": claim.statement,
        "arm": claim.arm,
        "baseline": claim.baseline,
        "metric": claim.metric,
        "planned": claim.seeds,
        "smallest_effect": claim.smallest_effect,
    }
    nowhere = {**row, "scale": "", "budget_tokens": pd.NA, "settings": ""}
    arms = {record.routing for record in records}
    for arm in (claim.arm, claim.baseline):
        if arm not in arms:
            present = ", ".join(sorted(arms))
            return [
                Draft(claim, nowhere, pd.DataFrame(columns=["difference"]), f"no run of {arm} ({present})")
            ]
    pairs = pairs_table(location, claim.baseline, claim.metric)
    started = _started_seeds(records, claim)
    return [
        _draft(claim, {**row, **dict(zip(CONDITION_COLUMNS, condition, strict=True))}, rows, started)
        for condition, rows in pairs[pairs["routing"] == claim.arm].groupby(CONDITION_COLUMNS, sort=False)
        if isinstance(condition, tuple)
    ]


def _draft(claim: Claim, row: Row, pairs: pd.DataFrame, started: Mapping[tuple[Any, ...], set[int]]) -> Draft:
    seeds = {int(seed) for seed in pairs["seed"]} | started.get(
        tuple(row[key] for key in CONDITION_COLUMNS), set()
    )
    planned = sorted(seeds)[: claim.seeds]
    by_seed = pairs.set_index("seed")["problem"].to_dict()
    problems = [
        f"seed {seed}: {by_seed.get(seed, f'no {claim.arm} run')}"
        for seed in planned
        if by_seed.get(seed, "missing")
    ]
    there = pairs[pairs["seed"].isin(planned) & (pairs["problem"] == "")].sort_values("seed")
    return Draft(claim, row, there, "; ".join(problems))


def _started_seeds(records: Sequence[RunRecord], claim: Claim) -> dict[tuple[Any, ...], set[int]]:
    """Seeds of the baseline under each condition, whatever became of the runs."""
    seeds: dict[tuple[Any, ...], set[int]] = {}
    for record, settings in zip(records, setting_labels(list(records)), strict=True):
        if record.routing == claim.baseline:
            seeds.setdefault((record.scale, record.budget_tokens, settings), set()).add(record.seed)
    return seeds


def _in_deviations(rows: pd.DataFrame, effect: Effect) -> float:
    """The effect in pooled standard deviations of the two arms over seeds."""
    if effect.pairs < 2:
        return math.nan
    variances = [stdev(rows[column]) ** 2 for column in ("value", "baseline_value")]
    pooled = math.sqrt(mean(variances))
    return effect.mean / pooled if pooled else math.nan
