"""The plan of a run: everything that follows from a config before any weight or data is touched."""

from dataclasses import asdict, dataclass
from typing import Any

from lft.config import BudgetConfig, OptimizerConfig, ScaleConfig, TrainConfig, routing_keywords
from lft.costs import Costs, ModelShape, count_costs
from lft.errors import RequestError
from lft.routing import Schedule, make_schedule


@dataclass(frozen=True)
class Plan:
    """What a run will do.

    Attributes:
        schedule: The order of block executions.
        shape: Sizes of the model.
        costs: Cost of this shape and schedule.
        standard_costs: Cost of the same shape when each block runs once.
        batch_sequences: Sequences per optimizer step.
        micro_batch_sequences: Most sequences a device works on at once.
        steps: Optimizer steps.
        warmup_steps: Optimizer steps of rising learning rate.
        milestones: Optimizer steps after which validation runs and a checkpoint is kept.
    """

    schedule: Schedule
    shape: ModelShape
    costs: Costs
    standard_costs: Costs
    batch_sequences: int
    micro_batch_sequences: int
    steps: int
    warmup_steps: int
    milestones: tuple[int, ...]

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
        return self.tokens * self.costs.training_flops_per_token

    @property
    def flop_ratio(self) -> float:
        """Training FLOPs per token relative to the standard routing of the same shape, head included."""
        return self.costs.training_flops_per_token / self.standard_costs.training_flops_per_token

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

    def record(self) -> dict[str, Any]:
        """The plan as plain values for `run.json`; blocks counted from 1."""
        return {
            "schedule": self.schedule.block_order,
            "num_blocks": self.schedule.num_blocks,
            "num_steps": self.schedule.num_steps,
            "visit_map": self.schedule.visit_map,
            "costs": {
                **asdict(self.costs),
                "training_flops": self.training_flops,
                "ratio_to_standard": self.flop_ratio,
                "steps_ratio_to_standard": self.schedule.num_steps / self.schedule.num_blocks,
            },
            "plan": {
                "steps": self.steps,
                "tokens": self.tokens,
                "tokens_per_step": self.tokens_per_step,
                "warmup_steps": self.warmup_steps,
                "milestones": list(self.milestones),
            },
        }


def make_plan(config: TrainConfig) -> Plan:
    """Derive the plan of a run from its config.

    Raises:
        RequestError: The config asks for something that cannot be.
    """
    shape = model_shape(config.scale, config.data.vocab_size)
    schedule = make_schedule(config.routing.name, shape.num_blocks, **routing_keywords(config.routing))
    _check_optimizer(config.optimizer)
    batch_sequences = _batch_sequences(config.optimizer, shape)
    steps = _optimizer_steps(config.budget, batch_sequences * shape.context_length)
    return Plan(
        schedule=schedule,
        shape=shape,
        costs=count_costs(shape, schedule.num_steps),
        standard_costs=count_costs(shape, shape.num_blocks),
        batch_sequences=batch_sequences,
        micro_batch_sequences=config.optimizer.micro_batch_sequences,
        steps=steps,
        warmup_steps=round(config.optimizer.warmup_fraction * steps),
        milestones=_milestones(config.budget.milestones, steps),
    )


def model_shape(scale: ScaleConfig, vocab_size: int) -> ModelShape:
    """The shape a scale asks for, at a vocabulary."""
    return ModelShape(
        vocab_size=vocab_size,
        num_blocks=scale.num_blocks,
        d_model=scale.d_model,
        num_heads=scale.num_heads,
        num_kv_heads=scale.num_heads if scale.num_kv_heads is None else scale.num_kv_heads,
        d_ff=scale.d_ff,
        context_length=scale.context_length,
        qk_norm=scale.qk_norm,
        rope_theta=scale.rope_theta,
        norm_epsilon=scale.norm_epsilon,
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


def _check_optimizer(optimizer: OptimizerConfig) -> None:
    # Each bound with the values it allows, so that a slip of the keyboard does not train for a day.
    bounds = {
        "learning_rate": (optimizer.learning_rate > 0, "above 0"),
        "batch_tokens": (optimizer.batch_tokens > 0, "above 0"),
        "micro_batch_sequences": (optimizer.micro_batch_sequences > 0, "above 0"),
        "beta1": (0 <= optimizer.beta1 < 1, "from 0 up to but not 1"),
        "beta2": (0 <= optimizer.beta2 < 1, "from 0 up to but not 1"),
        "epsilon": (optimizer.epsilon > 0, "above 0"),
        "weight_decay": (optimizer.weight_decay >= 0, "0 or more"),
        "warmup_fraction": (0 <= optimizer.warmup_fraction < 1, "from 0 up to but not 1"),
        "final_fraction": (0 <= optimizer.final_fraction <= 1, "from 0 to 1"),
        "gradient_clip": (optimizer.gradient_clip > 0, "above 0"),
    }
    for key, (allowed, meaning) in bounds.items():
        if not allowed:
            raise RequestError(f"optimizer.{key}={getattr(optimizer, key)} must be {meaning}")
