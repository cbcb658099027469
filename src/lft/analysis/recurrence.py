"""The recurrence exponent phi: what a further visit of a block is worth in parameters."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import mean

import numpy as np
import pandas as pd

from lft.analysis.arms import MATCH_WORD, ArmLabel
from lft.analysis.records import RunRecord, common_settings, read_records, refuse_repeats

# Between a visit that takes away and one that adds more than a block of its own.
PHI_RANGE = (-0.5, 1.5)
# Where searches start; the exponents of the power laws stay between the ends.
PHI_STARTS, EXPONENT_STARTS = np.linspace(*PHI_RANGE, 41), np.geomspace(0.02, 2.0, 7)


@dataclass(frozen=True)
class Observation:
    """One finished run.

    Attributes:
        visits: Visits of each block.
        block_parameters: Parameters of one block.
        tokens: Training tokens.
        loss: Final validation loss.
        arm: Its label; arms may visit their blocks as often and in another order.
    """

    visits: tuple[int, ...]
    block_parameters: float
    tokens: float
    loss: float
    arm: str = ""

    def effective_parameters(self, phi: float) -> float:
        """N_eff = sum over blocks of visits^phi x block parameters (arXiv 2604.21106)."""
        return self.block_parameters * sum(count**phi for count in self.visits)


@dataclass(frozen=True)
class RecurrenceFit:
    """phi with its profile interval.

    Attributes:
        phi: The exponent; NaN where the data cannot say.
        low: Lower end of the 95 % interval.
        high: Upper end.
        residual: Standard deviation of the models around the fit.
        observations: Models behind it, each the mean of its seeds.
        note: Why phi is not identified.
    """

    phi: float
    low: float
    high: float
    residual: float
    observations: int
    note: str = ""


def fit_recurrence(observations: Sequence[Observation]) -> RecurrenceFit:
    """Fit L = E + A N_eff^-alpha + B D^-beta, the last term where budgets differ, and profile phi.

    Seeds of one model are averaged first: what the law misses of a routing is the same for all of its
    seeds, and more of them must not pass for more evidence. The interval holds every phi whose best fit is
    no worse than an F test at 5 % allows. phi is not identified where its interval reaches an end of the
    range looked at, [-0.5, 1.5], or where there are too few different models.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import fdtri

    nothing = (math.nan,) * 3
    observations = _over_seeds(observations)
    count = len(observations)
    budgets = len({item.tokens for item in observations})
    # phi, E, A, alpha, and for the data term B and beta.
    parameters = 4 + (2 if budgets > 2 else 1 if budgets == 2 else 0)
    if count <= parameters:
        reason = f"not identified: {count} different models; {parameters + 1} are needed"
        return RecurrenceFit(*nothing, math.nan, count, reason)
    if len({tuple(sorted(item.visits)) for item in observations if max(item.visits) > 1}) == 0:
        return RecurrenceFit(*nothing, math.nan, count, "not identified: no model visits a block twice")
    profile = Profile(observations, budgets)
    errors = np.array([profile(phi) for phi in PHI_STARTS])
    place = int(errors.argmin())
    around = PHI_STARTS[max(0, place - 1)], PHI_STARTS[min(len(PHI_STARTS) - 1, place + 1)]
    best = minimize_scalar(profile, bounds=around, method="bounded", options={"xatol": 1e-5})
    freedom = count - parameters
    allowed = best.fun * (1 + fdtri(1, freedom, 0.95) / freedom)
    low = _end(profile, allowed, best.x, PHI_STARTS[best.x > PHI_STARTS][::-1])
    high = _end(profile, allowed, best.x, PHI_STARTS[best.x < PHI_STARTS])
    residual = math.sqrt(best.fun / freedom)
    if low is None or high is None:
        least, most = PHI_RANGE[0] if low is None else low, PHI_RANGE[1] if high is None else high
        reason = f"not identified: from {least:.2f} to {most:.2f} all fit about as well"
        return RecurrenceFit(math.nan, least, most, residual, count, reason)
    return RecurrenceFit(float(best.x), low, high, residual, count)


def _over_seeds(observations: Sequence[Observation]) -> list[Observation]:
    """One observation for each model and number of tokens: the mean loss."""
    losses: dict[Observation, list[float]] = {}
    for item in observations:
        losses.setdefault(replace(item, loss=0.0), []).append(item.loss)
    return [replace(model, loss=mean(found)) for model, found in losses.items()]


def _end(profile: "Profile", allowed: float, best: float, outward: np.ndarray) -> float | None:
    """Where the profile first rises above what is allowed; None where it does not within the range."""
    from scipy.optimize import brentq

    inside = best
    for phi in outward:
        if profile(phi) > allowed:
            return float(brentq(lambda value: profile(value) - allowed, inside, phi, xtol=1e-4))
        inside = phi
    return None


class Profile:
    """The smallest sum of squared residuals with a given phi.

    Linear in all but the exponents of the power laws, over which it searches.

    Args:
        observations: The runs.
        budgets: How many budgets differ.
    """

    def __init__(self, observations: Sequence[Observation], budgets: int) -> None:
        self.observations = observations
        self.losses = np.array([item.loss for item in observations])
        self.tokens = np.array([item.tokens for item in observations])
        self.budgets = budgets

    def __call__(self, phi: float) -> float:
        """The sum at this phi."""
        from scipy.optimize import minimize, minimize_scalar

        sizes = np.array([item.effective_parameters(phi) for item in self.observations])

        def error(logarithms: np.ndarray) -> float:
            exponents = np.exp(np.clip(logarithms, *np.log(EXPONENT_STARTS[[0, -1]])))
            columns = [(sizes / sizes.mean()) ** -exponents[0]]
            if self.budgets == 2:
                columns.append((self.tokens == self.tokens.min()).astype(float))
            elif self.budgets > 2:
                columns.append((self.tokens / self.tokens.mean()) ** -exponents[1])
            return _squares(columns, self.losses)

        ends = np.log(EXPONENT_STARTS)
        starts = itertools.product(*[ends] * (2 if self.budgets > 2 else 1))
        first = min((np.array(start) for start in starts), key=error)
        if len(first) == 1:
            around = first[0] + (ends[1] - ends[0]) * np.array([-1, 1])
            found = minimize_scalar(lambda value: error(np.array([value])), bounds=around, method="bounded")
            return float(found.fun)
        return float(minimize(error, first, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 0}).fun)


def _squares(columns: list[np.ndarray], losses: np.ndarray) -> float:
    """Squared residuals of the best sum of columns with coefficients of no negative sign, and a constant.

    A column whose best coefficient would be negative, parameters or data that hurt, takes no part.
    """
    from scipy.optimize import nnls

    # About the means, the constant drops out and may have any sign.
    design = np.column_stack([column - column.mean() for column in columns])
    return float(nnls(design, losses - losses.mean())[1] ** 2)


def recurrence_table(location: str | Path) -> pd.DataFrame:
    """phi from finished runs, for each set of conditions by itself; scales, budgets and routings together.

    Runs count whose blocks are trained in the usual way, without a sharing condition, to a finite loss;
    `note` names those without.

    Args:
        location: A folder of run folders, a glob, or a run folder.

    Returns:
        Columns `settings` (the conditions, scale and budget apart, in which the runs differ) and those of
        `RecurrenceFit`.

    Raises:
        RequestError: No run is there, one is there twice, or a file is damaged.
    """
    records = read_records(location)
    refuse_repeats(records)
    usable = [record for record in records if record.is_done and _is_usable(record)]
    groups: dict[str, list[Observation]] = {}
    for record, settings in zip(usable, common_settings(usable), strict=True):
        groups.setdefault(settings, []).append(_observation(record))
    rows = [{"settings": name, **asdict(fit_recurrence(found))} for name, found in groups.items()]
    lost = [
        record.folder.name
        for record in records
        if record.is_done and not math.isfinite(record.number("val_loss"))
    ]
    if lost:
        without = f"{', '.join(lost)} left out: no finite loss"
        rows = [{**row, "note": "; ".join(filter(None, [row["note"], without]))} for row in rows]
    return pd.DataFrame(rows, columns=["settings", *(field.name for field in fields(RecurrenceFit))])


def _is_usable(record: RunRecord) -> bool:
    trained = set(ArmLabel.parse(record.routing).conditions)
    return math.isfinite(record.number("val_loss")) and trained <= {MATCH_WORD}


def _observation(record: RunRecord) -> Observation:
    costs, visits = record.costs, Counter(record.record["schedule"])
    stored = costs["parameters"] - costs["embedding_parameters"]
    return Observation(
        tuple(visits[block] for block in sorted(visits)),
        stored / len(visits),
        float(record.summary["train_tokens"]),
        float(record.summary["val_loss"]),
        record.routing,
    )
