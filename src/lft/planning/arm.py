"""An arm: a model and the order in which it runs, whatever the budget."""

from dataclasses import dataclass, fields, replace
from typing import Any

from lft.config import ScaleConfig, SharingConfig, TrainConfig, routing_keywords
from lft.costs import Costs, ModelShape, count_costs
from lft.planning.twins import TwinMatch, fit_width, quantity_of
from lft.routing import Schedule, Twin, find_plain_routing, find_routing, make_schedule


@dataclass(frozen=True)
class Arm:
    """What a config makes of a routing.

    Attributes:
        shape: Sizes of the model.
        schedule: The order of block executions.
        costs: Cost of this shape and schedule.
        early_schedule: The order before feedback starts.
        early_costs: Cost of this shape and the early order.
        feedback_after: Share of the optimizer steps that run the early order.
        twin: How well the width meets its promise; None for models of the scale's own width.
    """

    shape: ModelShape
    schedule: Schedule
    costs: Costs
    early_schedule: Schedule
    early_costs: Costs
    feedback_after: float
    twin: TwinMatch | None

    def early_steps(self, steps: int) -> int:
        """How many of so many optimizer steps run the early order; at least the last runs the whole one."""
        return max(0, min(round(self.feedback_after * steps), steps - 1))


def make_arm(config: TrainConfig) -> Arm:
    """The arm that a config asks for.

    Raises:
        RequestError: The routing is impossible at this scale.
    """
    return _arm(config, config.routing.name, routing_keywords(config.routing), config.sharing)


def plain_arm(config: TrainConfig, routing: str, key: str = "routing") -> Arm:
    """Another routing at the same scale, with default options and default training conditions.

    Raises:
        RequestError: The routing, named by the config key `key`, is unknown or has no defaults.
    """
    find_plain_routing(routing, key)
    return _arm(config, routing, {}, SharingConfig())


def arm_label(config: TrainConfig) -> str:
    """How people call the arm: its routing, and all in routing, conditions and match that is not usual."""
    options = find_routing(config.routing.name).options
    usual = {"share": "all", **{name: option.default for name, option in options.items()}}
    words = _unusual(routing_keywords(config.routing), usual)
    words += _unusual(vars(config.sharing), {field.name: field.default for field in fields(SharingConfig)})
    if config.match.by != "tokens":
        words.append(f"match={config.match.by}:{config.match.reference}")
    return " ".join([config.routing.name, *words])


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


def _arm(config: TrainConfig, routing: str, options: dict[str, Any], sharing: SharingConfig) -> Arm:
    scale_shape = model_shape(config.scale, config.data.vocab_size)
    schedule = make_schedule(routing, scale_shape.num_blocks, **options)
    shape = replace(scale_shape, num_blocks=schedule.num_blocks)
    promise = find_routing(routing).twin
    twin = None
    if promise:
        target = _target(promise, scale_shape, options)
        shape = fit_width(shape, schedule.num_steps, promise.quantity, target)
        actual = quantity_of(shape, schedule.num_steps, promise.quantity)
        twin = TwinMatch(promise.quantity, promise.of, target, actual)
    if sharing.visit_conditioning != "none":
        shape = replace(shape, conditioning=sharing.visit_conditioning, conditioning_steps=schedule.num_steps)
    early = schedule.without_revisits() if sharing.feedback_after else schedule
    return Arm(
        shape=shape,
        schedule=schedule,
        costs=_costs(shape, schedule, sharing.gradient),
        early_schedule=early,
        early_costs=_costs(shape, early, sharing.gradient),
        feedback_after=0.0 if early == schedule else sharing.feedback_after,
        twin=twin,
    )


def _costs(shape: ModelShape, schedule: Schedule, gradient: str) -> Costs:
    return count_costs(shape, schedule.num_steps, len(schedule.detached(gradient)))


def _target(promise: Twin, scale_shape: ModelShape, options: dict[str, Any]) -> int:
    shared = {name: options[name] for name in find_routing(promise.of).options if name in options}
    met = make_schedule(promise.of, scale_shape.num_blocks, **shared)
    return quantity_of(replace(scale_shape, num_blocks=met.num_blocks), met.num_steps, promise.quantity)


def _unusual(values: dict[str, Any], usual: dict[str, Any]) -> list[str]:
    return [
        f"{key}={str(value).replace(' ', '')}" for key, value in values.items() if value != usual.get(key)
    ]
