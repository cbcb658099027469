"""Calibration: what an optimizer step of two arms costs on this machine, measured in turn."""

import math
import platform
import time
from collections.abc import Callable
from contextlib import nullcontext
from statistics import median

import torch

from lft.config import SharingConfig, TrainConfig, plain_settings
from lft.errors import RequestError
from lft.meters import Clock, Meter, find_meter
from lft.model import Transformer, initialize
from lft.planning import Plan, StepCosts, make_plan, reference_arm
from lft.runs import RunFolder, result_keys
from lft.training.hardware import chosen_device, resolve_compile, resolve_precision
from lft.training.messages import say
from lft.training.optimizer import build_optimizer

WARMUP_TURNS = 2
LEAST_TURNS = 9
MOST_TURNS = 60
SECONDS = 15.0

Turn = Callable[[Meter, int], float]


def settle_match(config: TrainConfig, plan: Plan, folder: RunFolder) -> Plan:
    """The plan, with its steps measured where they are matched by seconds or joules.

    A measurement stands: of an earlier start of this run, or of a run that differs in the seed alone and was
    measured on this machine, so that the seeds of one arm take the same steps.

    Args:
        config: The request.
        plan: Its plan, perhaps forecast.
        folder: The run folder, which need not exist.

    Raises:
        RequestError: There is no meter, or several devices train.
    """
    if plan.match.is_settled:
        return plan
    if not config.force and (costs := _recorded_costs(config, folder)):
        return make_plan(config, costs)
    if config.trainer.get("devices") != 1 or config.trainer.get("num_nodes") != 1:
        raise RequestError(
            f"match={plan.match.by} calibrates on one device; use trainer.devices=1 trainer.num_nodes=1"
        )
    device = chosen_device(config.trainer["accelerator"])
    meter = find_meter(plan.match.by, device)
    say(f"calibrating match={plan.match.by} against {plan.match.reference}")
    precision, compiled = resolve_precision(config.precision, device), resolve_compile(config.compile, device)
    return make_plan(config, measure_step_costs(config, plan, meter, device, precision, compiled))


def _recorded_costs(config: TrainConfig, folder: RunFolder) -> StepCosts | None:
    ours = {**result_keys(plain_settings(config)), "seed": None}
    others = [RunFolder(path.parent) for path in sorted(folder.path.parent.glob("*/run.json"))]
    for run in sorted(others, key=lambda run: run.name != folder.name):
        record = run.read("run.json")
        here = run.name == folder.name or record.get("hardware", {}).get("hostname") == platform.node()
        if here and {**result_keys(run.read("config.json")), "seed": None} == ours:
            return StepCosts(**record["match"]["step_costs"])
    return None


def measure_step_costs(
    config: TrainConfig, plan: Plan, meter: Meter, device: torch.device, precision: str, compiled: bool
) -> StepCosts:
    """Measure an optimizer step of the run's arm, and of the arm that its match refers to.

    In a turn every arm takes a step, one after the other, so that whatever else the machine does weighs on
    all of them. The median of the turns' ratios counts.

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
    rounds: list[dict[str, float]] = []
    started = time.perf_counter()
    while len(rounds) < LEAST_TURNS or (len(rounds) < MOST_TURNS and time.perf_counter() - started < SECONDS):
        rounds.append({name: take(meter, repeats[name]) for name, take in turns.items()})
    reference_cost = median(costs["reference"] for costs in rounds)
    ratios = {name: median(costs[name] / costs["reference"] for costs in rounds) for name in turns}
    return StepCosts(
        arm=ratios["arm"] * reference_cost,
        early=ratios.get("early", ratios["arm"]) * reference_cost,
        reference=reference_cost,
        measured=True,
    )


def _turn(
    model: Transformer, sharing: SharingConfig, config: TrainConfig, plan: Plan, precision: str
) -> Turn:
    device = model.embedding.weight.device
    optimizer, _ = build_optimizer(model, config.optimizer, sharing, plan.steps, plan.warmup_steps)
    autocast = torch.autocast(device.type, torch.bfloat16) if precision == "bf16-mixed" else nullcontext()
    micro_batches = plan.accumulation_steps(1)
    rows = plan.batch_sequences // micro_batches
    generator = torch.Generator().manual_seed(config.seed)
    shape = (rows, model.shape.context_length + 1)
    tokens = torch.randint(model.shape.vocab_size, shape, generator=generator).to(device)

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
