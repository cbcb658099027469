"""What a trained model loses along another route: one step skipped, or the blocks in another order."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from lft.diagnostics.reading import Reading
from lft.model import Transformer
from lft.routing import Schedule, Step


@torch.no_grad()
def knockout_readings(
    model: Transformer,
    sequences: Int[Tensor, "sequences time_and_one"],
    routes: Mapping[str, Schedule],
    batch_sequences: int,
) -> list[Reading]:
    """The loss with each step skipped, and along each of the routes, beside that along the trained one.

    `skip_loss` (nats per token), `skip_difference` from the trained route's loss on the same tokens, and
    `skip_difference_error`, its standard error over sequences, for every step; `route_loss` and so on for
    every route, whose name stands as the part, and `route_loss` of the route `trained`. A visit beyond the
    trained ones takes the visit factors of the last.

    Args:
        model: The model, with the schedule it was trained with.
        sequences: Held-out tokens, each sequence one longer than the context.
        routes: Other schedules over the model's blocks, by name.
        batch_sequences: Sequences evaluated at once.
    """

    def losses(schedule: Schedule) -> Float[Tensor, " sequences"]:
        with _running(model, schedule):
            return sequence_losses(model, sequences, batch_sequences)

    trained = losses(model.schedule)
    readings = [Reading.of_route("route_loss", float(trained.mean()), "trained")]
    for number, step in enumerate(model.schedule.steps, start=1):
        for name, value in _paired(losses(model.schedule.without(step)), trained):
            readings.append(Reading.of_step(number, step, f"skip_{name}", value))
    for route, schedule in routes.items():
        for name, value in _paired(losses(_with_known_factors(model, schedule)), trained):
            readings.append(Reading.of_route(f"route_{name}", value, route))
    return readings


@torch.no_grad()
def sequence_losses(
    model: Transformer, sequences: Int[Tensor, "sequences time_and_one"], batch_sequences: int
) -> Float[Tensor, " sequences"]:
    """Mean loss of every sequence in nats per token, in float64 on the CPU."""
    means = []
    for batch in sequences.split(batch_sequences):
        logits = model(batch[:, :-1]).flatten(0, 1)
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        losses = functional.cross_entropy(wide, batch[:, 1:].flatten(), reduction="none")
        means.append(losses.view(len(batch), -1).double().mean(dim=1).cpu())
    return torch.cat(means)


def _paired(
    losses: Float[Tensor, " sequences"], trained: Float[Tensor, " sequences"]
) -> Iterator[tuple[str, float]]:
    differences = losses - trained
    yield "loss", float(losses.mean())
    yield "difference", float(differences.mean())
    if len(differences) > 1:
        yield "difference_error", float(differences.std()) / math.sqrt(len(differences))


@contextmanager
def _running(model: Transformer, schedule: Schedule) -> Iterator[None]:
    trained, model.schedule = model.schedule, schedule
    try:
        yield
    finally:
        model.schedule = trained


def _with_known_factors(model: Transformer, schedule: Schedule) -> Schedule:
    if not model.visit_factors:
        return schedule
    known = [
        max(visit for visit in range(schedule.num_steps) if Step(block, visit).name in model.visit_factors)
        for block in range(schedule.num_blocks)
    ]
    steps = tuple(Step(block, min(visit, known[block])) for block, visit in schedule.steps)
    return Schedule(schedule.num_blocks, steps)
