"""Whether planned runs can decide the claims that they are started for."""

import difflib
from collections.abc import Iterable

from lft.config import TrainConfig
from lft.planning.arm import arm_label
from lft.routing import find_routing
from lft.runs import Claim
from lft.terminal import short


def check_claims(config: TrainConfig) -> None:
    """Make sure that the claims of a request are about routings that there are.

    Raises:
        RequestError: One is unknown.
    """
    for name, claim in config.claims.items():
        for key, arm in (("arm", claim.arm), ("baseline", claim.baseline)):
            find_routing(arm.partition(" ")[0], f"claims.{name}.{key}")


def claim_remarks(configs: Iterable[TrainConfig]) -> list[str]:
    """What the planned runs lack to decide their claims; other runs may have it.

    Args:
        configs: The requests of all planned runs.
    """
    claims: dict[str, Claim] = {}
    # By scale and budget, and then by arm.
    planned: dict[tuple[str, int], dict[str, set[int]]] = {}
    for config in configs:
        claims.update(config.claims)
        arms = planned.setdefault((config.scale.name, config.budget.tokens), {})
        arms.setdefault(arm_label(config), set()).add(config.seed)
    labels = sorted({label for arms in planned.values() for label in arms})
    remarks = []
    for name, claim in claims.items():
        absent = [arm for arm in (claim.arm, claim.baseline) if arm not in labels]
        lacking = [_absent(arm, labels) for arm in absent]
        for (scale, budget), arms in planned.items() if not absent else ():
            pairs = len(arms.get(claim.arm, set()) & arms.get(claim.baseline, set()))
            if pairs < claim.seeds and claim.arm in arms:
                where = f"{scale}, {short(budget)} tokens"
                lacking.append(f"{pairs} of the {claim.seeds} pairs that decide are planned at {where}")
        remarks += [f"claim {name}: {words}" for words in lacking]
    return remarks


def _absent(arm: str, planned: list[str]) -> str:
    close = difflib.get_close_matches(arm, planned, n=1)
    if close:
        return f"no run planned here is '{arm}'; did you mean '{close[0]}'?"
    return f"no run planned here is '{arm}'; it must come into the same folder of runs"
