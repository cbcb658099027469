"""Matching: how many optimizer steps make a run cost what another routing costs over the budget."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from lft.config import TrainConfig
from lft.errors import RequestError
from lft.planning.arm import Arm, plain_arm

UNITS = {"tokens": "tokens", "flops": "FLOPs", "wallclock": "seconds", "energy": "joules"}
MEASURED = ("wallclock", "energy")


@dataclass(frozen=True)
class StepCosts:
    """Cost of one optimizer step, in the unit of the match.

    Attributes:
        arm: Of the run's own routing.
        early: The same before feedback starts.
        reference: Of the routing to match.
        measured: Whether it was measured on this machine, not counted.
    """

    arm: float
    early: float
    reference: float
    measured: bool = False


@dataclass(frozen=True)
class Match:
    """What a run has in common with a run of another routing, and how nearly.

    Attributes:
        by: The quantity: tokens, flops, wallclock or energy.
        reference: The routing whose cost is met; the budget itself for tokens.
        target: The cost to meet, in `unit`.
        actual: The cost of the run, a whole number of optimizer steps.
        reference_steps: Optimizer steps of the reference.
        step_costs: What an optimizer step costs; None for tokens.
    """

    by: str
    reference: str
    target: float
    actual: float
    reference_steps: int
    step_costs: StepCosts | None

    @property
    def unit(self) -> str:
        """What `target` and `actual` count; a measured quantity not yet measured is forecast in FLOPs."""
        return UNITS[self.by] if self.is_settled else UNITS["flops"]

    @property
    def is_settled(self) -> bool:
        """Whether the number of steps stands, without a measurement still to come."""
        return self.by not in MEASURED or (self.step_costs is not None and self.step_costs.measured)

    @property
    def mismatch(self) -> float:
        """Relative difference of the run from its target."""
        return self.actual / self.target - 1

    def record(self) -> dict[str, Any]:
        """The match as plain values for `run.json`."""
        return {**asdict(self), "unit": self.unit, "mismatch": self.mismatch}


def reference_arm(config: TrainConfig, arm: Arm) -> Arm:
    """The arm that a match refers to.

    Raises:
        RequestError: It is unknown, or the arm itself.
    """
    reference = plain_arm(config, config.match.reference, key="match.reference")
    if reference == arm:
        raise RequestError(
            f"match.reference={config.match.reference} runs as this run does, and a run cannot be matched "
            "against itself; use match=tokens or another match.reference"
        )
    return reference


def matched_steps(
    config: TrainConfig,
    arm: Arm,
    budget_steps: int,
    tokens_per_step: int,
    measured: StepCosts | None = None,
) -> tuple[int, Match]:
    """The optimizer steps of a run, and the match that they make.

    Args:
        config: The request.
        arm: Its arm.
        budget_steps: Optimizer steps of the budget.
        tokens_per_step: Training tokens of an optimizer step.
        measured: Seconds or joules of a step, for a match by them; without it they are forecast by FLOPs.

    Raises:
        RequestError: The reference cannot be matched, or less than one step would.
    """
    by = config.match.by
    if by == "tokens":
        tokens = budget_steps * tokens_per_step
        return budget_steps, Match(by, "budget", config.budget.tokens, tokens, budget_steps, None)
    reference = reference_arm(config, arm)
    costs = measured or StepCosts(
        arm.costs.training_flops_per_token * tokens_per_step,
        arm.early_costs.training_flops_per_token * tokens_per_step,
        reference.costs.training_flops_per_token * tokens_per_step,
    )

    def cost(steps: int) -> float:
        early = arm.early_steps(steps)
        return early * costs.early + (steps - early) * costs.arm

    target = budget_steps * costs.reference
    steps = _nearest(cost, target)
    if steps < 1:
        raise RequestError(
            f"match={by}: not one optimizer step costs as little as the budget of {config.match.reference}; "
            "raise budget.tokens"
        )
    return steps, Match(by, config.match.reference, target, cost(steps), budget_steps, costs)


def check_epochs(config: TrainConfig, tokens: int, train_tokens: int) -> None:
    """Refuse a match that would read the training text more often than allowed.

    Args:
        config: The request.
        tokens: Tokens that the match asks for.
        train_tokens: Tokens of the training text.

    Raises:
        RequestError: It would; the message says how often.
    """
    epochs = tokens / train_tokens
    if config.match.by != "tokens" and epochs > config.match.max_epochs:
        raise RequestError(
            f"match={config.match.by} asks for {tokens:,} tokens, {epochs:.2f} epochs of the "
            f"{train_tokens:,} training tokens; give more text, or allow it with "
            f"match.max_epochs={epochs + 0.005:.2f}"
        )


def _nearest(cost: Callable[[int], float], target: float) -> int:
    """The steps whose cost, which grows with them, is nearest to a target."""
    above = 1
    while cost(above) < target:
        above *= 2
    below = 0
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if cost(middle) < target else (below, middle)
    return min(below, above, key=lambda steps: abs(cost(steps) - target))
