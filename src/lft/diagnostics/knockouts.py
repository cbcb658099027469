"""What a trained model loses along another route: one step skipped, or the blocks in another order."""

import math
from collections.abc import Iterator, Mapping

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
    *skipped, trained = _losses_without_each_step(model, sequences, batch_sequences)
    readings = [Reading.of_route("route_loss", float(trained.mean()), "trained")]
    for number, (step, losses) in enumerate(zip(model.schedule.steps, skipped, strict=True), start=1):
        for name, value in _paired(losses, trained):
            readings.append(Reading.of_step(number, step, f"skip_{name}", value))
    for route, schedule in routes.items():
        losses = sequence_losses(model, sequences, _with_known_factors(model, schedule), batch_sequences)
        for name, value in _paired(losses, trained):
            readings.append(Reading.of_route(f"route_{name}", value, route))
    return readings


@torch.no_grad()
def sequence_losses(
    model: Transformer,
    sequences: Int[Tensor, "sequences time_and_one"],
    schedule: Schedule,
    batch_sequences: int,
) -> Float[Tensor, " sequences"]:
    """Mean loss of every sequence along a schedule in nats per token, in float64 on the CPU."""
    means = []
    for batch in sequences.split(batch_sequences):
        residual = model.run(model.embedding(batch[:, :-1]), schedule.steps)
        means.append(_sequence_means(model.head(residual), batch[:, 1:]))
    return torch.cat(means)


def _losses_without_each_step(
    model: Transformer, sequences: Int[Tensor, "sequences time_and_one"], batch_sequences: int
) -> Float[Tensor, "steps_and_one sequences"]:
    """The same along the model's own schedule with each of its steps skipped in turn, and at last none."""
    steps, means = model.schedule.steps, []
    for batch in sequences.split(batch_sequences):
        stream = list(model.residuals(batch[:, :-1]))
        of_batch = []
        # What comes before a skipped step is as it was; after the last step there is none to skip.
        for skipped, before in enumerate(stream):
            residual = model.run(before, steps[skipped + 1 :])
            of_batch.append(_sequence_means(model.head(residual), batch[:, 1:]))
        means.append(torch.stack(of_batch))
    return torch.cat(means, dim=1)


def _sequence_means(
    logits: Float[Tensor, "batch time vocab"], targets: Int[Tensor, "batch time"]
) -> Float[Tensor, " batch"]:
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32)).flatten(0, 1)
    losses = functional.cross_entropy(wide, targets.flatten(), reduction="none")
    # On the CPU, since not every device has float64.
    return losses.view(targets.shape).cpu().double().mean(dim=1)


def _paired(
    losses: Float[Tensor, " sequences"], trained: Float[Tensor, " sequences"]
) -> Iterator[tuple[str, float]]:
    differences = losses - trained
    yield "loss", float(losses.mean())
    yield "difference", float(differences.mean())
    if len(differences) > 1:
        yield "difference_error", float(differences.std()) / math.sqrt(len(differences))


def _with_known_factors(model: Transformer, schedule: Schedule) -> Schedule:
    if not model.visit_factors:
        return schedule
    known = [
        max(visit for visit in range(schedule.num_steps) if Step(block, visit).name in model.visit_factors)
        for block in range(schedule.num_blocks)
    ]
    steps = tuple(Step(block, min(visit, known[block])) for block, visit in schedule.steps)
    return Schedule(schedule.num_blocks, steps)
