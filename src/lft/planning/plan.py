"""The plan of a run: everything that follows from a config before any weight or data is touched."""

from dataclasses import asdict, dataclass
from typing import Any

from lft.config import BudgetConfig, OptimizerConfig, TrainConfig
from lft.costs import Costs, ModelShape
from lft.errors import RequestError
from lft.planning.arm import Arm, arm_label, make_arm, plain_arm
from lft.planning.claims import check_claims
from lft.planning.matching import Match, StepCosts, check_epochs, matched_steps
from lft.routing import Schedule

QUANTITY_NAMES = {"parameters": "parameters", "flops": "forward FLOPs per token"}


@dataclass(frozen=True)
class Plan:
    """What a run will do.

    Attributes:
        label: How people call the arm.
        arm: The model and the order in which it runs.
        standard: The standard arm of the same scale, which ratios refer to.
        match: What the run has in common with a run of another routing.
        batch_sequences: Sequences per optimizer step.
        micro_batch_sequences: Most sequences a device works on at once.
        steps: Optimizer steps.
        warmup_steps: Optimizer steps of rising learning rate.
        milestones: Optimizer steps after which validation runs and a checkpoint is kept.
    """

    label: str
    arm: Arm
    standard: Arm
    match: Match
    batch_sequences: int
    micro_batch_sequences: int
    steps: int
    warmup_steps: int
    milestones: tuple[int, ...]

    @property
    def schedule(self) -> Schedule:
        """The order of block executions, once feedback has started."""
        return self.arm.schedule

    @property
    def shape(self) -> ModelShape:
        """Sizes of the model."""
        return self.arm.shape

    @property
    def costs(self) -> Costs:
        """Cost of this shape and schedule."""
        return self.arm.costs

    @property
    def early_steps(self) -> int:
        """Optimizer steps before feedback starts."""
        return self.arm.early_steps(self.steps)

    def schedule_at(self, step: int) -> Schedule:
        """The order of block executions at an optimizer step (from 0)."""
        return self.arm.early_schedule if step < self.early_steps else self.arm.schedule

    def training_flops_per_token_at(self, step: int) -> int:
        """Training FLOPs per token at an optimizer step (from 0)."""
        costs = self.arm.early_costs if step < self.early_steps else self.arm.costs
        return costs.training_flops_per_token

    def training_flops_until(self, step: int) -> int:
        """Training FLOPs of so many optimizer steps."""
        early = min(step, self.early_steps)
        early_flops = early * self.arm.early_costs.training_flops_per_token
        return self.tokens_per_step * (early_flops + (step - early) * self.costs.training_flops_per_token)

    @property
    def tokens_per_step(self) -> int:
        """Training tokens of one optimizer step."""
        return self.batch_sequences * self.shape.context_length

    @property
    def tokens(self) -> int:
        """Training tokens of the whole run."""
        return self.steps * self.tokens_per_step

    @property
    def training_flops(self) -> int:
        """Training FLOPs of the whole run."""
        return self.training_flops_until(self.steps)

    @property
    def flop_ratio(self) -> float:
        """Training FLOPs per token relative to the standard routing of the same scale, head included."""
        return self.costs.training_flops_per_token / self.standard.costs.training_flops_per_token

    @property
    def total_ratio(self) -> float:
        """Training FLOPs of the whole run relative to the standard routing's over the budget."""
        budget_tokens = self.match.reference_steps * self.tokens_per_step
        return self.training_flops / (budget_tokens * self.standard.costs.training_flops_per_token)

    @property
    def training_flops_by_part(self) -> dict[str, int]:
        """Training FLOPs of the whole run in the blocks' projections, in attention and in the head."""
        early, late = self.early_steps, self.steps - self.early_steps
        attention = (
            early * self.arm.early_costs.attention_flops_per_token
            + late * self.costs.attention_flops_per_token
        )
        parts = {
            "attention": 3 * self.tokens_per_step * attention,
            "head": 3 * self.tokens * self.costs.head_flops_per_token,
        }
        return {"projections": self.training_flops - sum(parts.values()), **parts}

    @property
    def activation_bytes(self) -> int:
        """What the backward pass of one micro-batch on one device needs, uncompiled, in float32."""
        sequences = self.batch_sequences // self.accumulation_steps(1)
        return sequences * self.shape.context_length * self.costs.activation_bytes_per_token

    @property
    def checkpoint_bytes(self) -> int:
        """All checkpoints of the run: weights at every milestone, and one to resume from."""
        return len(self.milestones) * self.costs.weights_bytes + self.costs.resumable_bytes

    @property
    def steps_ratio(self) -> float:
        """Block executions relative to the standard routing of the same scale."""
        return self.schedule.num_steps / self.standard.schedule.num_steps

    def accumulation_steps(self, num_devices: int) -> int:
        """Micro-batches per optimizer step and device, all of one size.

        Raises:
            RequestError: The batch does not divide evenly among the devices.
        """
        per_device, rest = divmod(self.batch_sequences, num_devices)
        if rest:
            raise RequestError(
                f"a batch of {self.batch_sequences} sequences does not divide among {num_devices} devices; "
                "change optimizer.batch_tokens or trainer.devices"
            )
        largest = min(per_device, self.micro_batch_sequences)
        return next(per_device // size for size in range(largest, 0, -1) if per_device % size == 0)

    def remarks(self) -> list[str]:
        """What a person should know of matches and twins, one line each."""
        lines = []
        match, twin = self.match, self.arm.twin
        if match.by != "tokens":
            lines.append(
                f"match={match.by}: {match.actual:.6g} {match.unit} in {self.steps:,} steps, "
                f"{match.mismatch:+.4%} beside {match.reference} in {match.reference_steps:,} steps"
                + ("" if match.is_settled else " (a forecast; measured when the run starts)")
            )
        if twin:
            lines.append(
                f"twin: {twin.actual:,} {QUANTITY_NAMES[twin.quantity]}, {twin.mismatch:+.4%} beside "
                f"{twin.of}; d_model {self.shape.d_model}, {self.shape.num_heads} heads, "
                f"d_ff {self.shape.d_ff}"
            )
        if self.early_steps:
            lines.append(f"feedback starts after {self.early_steps:,} of {self.steps:,} steps")
        return lines

    def record(self) -> dict[str, Any]:
        """The plan as plain values for `run.json`; blocks counted from 1."""
        twin = self.arm.twin
        return {
            "arm": self.label,
            "schedule": self.schedule.block_order,
            "num_blocks": self.schedule.num_blocks,
            "num_steps": self.schedule.num_steps,
            "visit_map": self.schedule.visit_map,
            "costs": {
                **asdict(self.costs),
                "training_flops": self.training_flops,
                "steps_ratio_to_standard": self.steps_ratio,
                "flop_ratio_to_standard": self.flop_ratio,
                "total_flop_ratio_to_standard": self.total_ratio,
            },
            "model": asdict(self.shape),
            "match": self.match.record(),
            "twin": {**asdict(twin), "mismatch": twin.mismatch} if twin else None,
            "plan": {
                "steps": self.steps,
                "tokens": self.tokens,
                "tokens_per_step": self.tokens_per_step,
                "warmup_steps": self.warmup_steps,
                "early_steps": self.early_steps,
                "milestones": list(self.milestones),
            },
        }


def make_plan(config: TrainConfig, measured: StepCosts | None = None) -> Plan:
    """Derive the plan of a run from its config.

    Args:
        config: The request.
        measured: What optimizer steps cost on this machine, for a match by seconds or joules; without it
            such a match is forecast by FLOPs.

    Raises:
        RequestError: The config asks for something that cannot be.
    """
    check_claims(config)
    arm = make_arm(config)
    batch_sequences = _batch_sequences(config.optimizer, arm.shape)
    tokens_per_step = batch_sequences * arm.shape.context_length
    budget_steps = _optimizer_steps(config.budget, tokens_per_step)
    steps, match = matched_steps(config, arm, budget_steps, tokens_per_step, measured)
    if config.data.train_tokens is not None:
        check_epochs(config, steps * tokens_per_step, config.data.train_tokens)
    return Plan(
        label=arm_label(config),
        arm=arm,
        standard=plain_arm(config, "standard"),
        match=match,
        batch_sequences=batch_sequences,
        micro_batch_sequences=config.optimizer.micro_batch_sequences,
        steps=steps,
        warmup_steps=round(config.optimizer.warmup_fraction * steps),
        milestones=_milestones(config.budget.milestones, steps),
    )


def _batch_sequences(optimizer: OptimizerConfig, shape: ModelShape) -> int:
    sequences, rest = divmod(optimizer.batch_tokens, shape.context_length)
    if rest or sequences < 1:
        nearest = max(1, sequences) * shape.context_length
        raise RequestError(
            f"optimizer.batch_tokens={optimizer.batch_tokens} is not a whole number of sequences of "
            f"{shape.context_length} tokens; {nearest} would be"
        )
    return sequences


def _optimizer_steps(budget: BudgetConfig, tokens_per_step: int) -> int:
    steps = budget.tokens // tokens_per_step
    if steps < 1:
        raise RequestError(
            f"budget.tokens={budget.tokens} is less than one optimizer step of {tokens_per_step} tokens; "
            "raise it or lower optimizer.batch_tokens"
        )
    return steps


def _milestones(count: int, steps: int) -> tuple[int, ...]:
    if count < 1:
        raise RequestError(f"budget.milestones={count} must be 1 or more")
    return tuple(sorted({max(1, round(steps * index / count)) for index in range(1, count + 1)}))
