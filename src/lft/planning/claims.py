"""Whether planned runs can decide the claims that they are started for."""

import difflib
from collections.abc import Iterable

from lft.config import TrainConfig
from lft.planning.arm import arm_label
from lft.routing import find_routing
from lft.runs import Claim


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
    seeds: dict[str, set[int]] = {}
    for config in configs:
        claims.update(config.claims)
        seeds.setdefault(arm_label(config), set()).add(config.seed)
    remarks = []
    for name, claim in claims.items():
        arms = (claim.arm, claim.baseline)
        lacking = [_absent(arm, list(seeds)) for arm in arms if arm not in seeds]
        few = [
            f"{len(seeds[arm])} of {arm}" for arm in arms if len(seeds.get(arm, ())) in range(1, claim.seeds)
        ]
        if few:
            lacking.append(f"{claim.seeds} seeds decide; planned are {' and '.join(few)}")
        remarks += [f"claim {name}: {words}" for words in lacking]
    return remarks


def _absent(arm: str, planned: list[str]) -> str:
    close = difflib.get_close_matches(arm, planned, n=1)
    if close:
        return f"no run planned here is '{arm}'; did you mean '{close[0]}'?"
    return f"no run planned here is '{arm}'; it must come into the same folder of runs"
