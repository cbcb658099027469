"""Calibration: what an optimizer step of two arms costs on this machine, measured in turn."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from statistics import median

import torch

from lft.config import SharingConfig, TrainConfig
from lft.model import Transformer, initialize
from lft.planning import Plan, StepCosts, reference_arm
from lft.training.meters import Clock, Meter
from lft.training.optimizer import build_optimizer

WARMUP_TURNS = 2
TURNS = 7

Turn = Callable[[Meter, int], float]


def measure_step_costs(
    config: TrainConfig, plan: Plan, meter: Meter, device: torch.device, precision: str, compiled: bool
) -> StepCosts:
    """Measure an optimizer step of the run's arm, and of the arm that its match refers to.

    In a turn every arm takes a step, one after the other, so that whatever else the machine does weighs on
    all of them. The median turn counts.

    Args:
        config: The request.
        plan: Its plan, with the number of steps still forecast.
        meter: Reads seconds or joules.
        device: Where the run executes.
        precision: Lightning's name of the number format.
        compiled: Whether the run compiles.
    """
    reference = reference_arm(config, plan.arm)

    def turn(model: Transformer, sharing: SharingConfig) -> Turn:
        # Other weights than those of training meet other numbers, and some of them are slow to compute with.
        initialize(model, config.seed, sharing.residual_init)
        if compiled:
            model.compile_in_place()
        return _turn(model.to(device), sharing, config, plan, precision)

    arm, gradient = plan.arm, config.sharing.gradient
    turns = {
        "arm": turn(Transformer(arm.shape, arm.schedule, gradient), config.sharing),
        "reference": turn(Transformer(reference.shape, reference.schedule), SharingConfig()),
    }
    if arm.early_schedule != arm.schedule:
        early = Transformer(arm.shape, arm.schedule, gradient)
        early.schedule = arm.early_schedule
        turns["early"] = turn(early, config.sharing)

    for _ in range(WARMUP_TURNS):
        seconds = {name: take(Clock(), 1) for name, take in turns.items()}
    repeats = {name: max(1, math.ceil(meter.resolution / seconds[name])) for name in turns}
    rounds = [{name: take(meter, repeats[name]) for name, take in turns.items()} for _ in range(TURNS)]
    costs = {name: median(costs[name] for costs in rounds) for name in turns}
    return StepCosts(costs["arm"], costs.get("early", costs["arm"]), costs["reference"], measured=True)


def _turn(
    model: Transformer, sharing: SharingConfig, config: TrainConfig, plan: Plan, precision: str
) -> Turn:
    device = model.embedding.weight.device
    optimizer, _ = build_optimizer(model, config.optimizer, sharing, plan.steps, plan.warmup_steps)
    autocast = torch.autocast(device.type, torch.bfloat16) if precision == "bf16-mixed" else nullcontext()
    micro_batches = plan.accumulation_steps(1)
    rows = plan.batch_sequences // micro_batches
    tokens = torch.randint(model.shape.vocab_size, (rows, model.shape.context_length + 1), device=device)

    def turn(meter: Meter, repeats: int) -> float:
        """Measure so many micro-batches and updates; the cost of one optimizer step."""
        started = meter.read()
        for _ in range(repeats):
            with autocast:
                loss = model.loss(tokens[:, :-1], tokens[:, 1:])
            loss.backward()
        _wait(device)
        between = meter.read()
        for _ in range(repeats):
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.optimizer.gradient_clip)
            optimizer.step()
        _wait(device)
        ended = meter.read()
        optimizer.zero_grad()
        return (micro_batches * (between - started) + ended - between) / repeats

    return turn


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
