"""Losses along other routes, against models that were built with those routes."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import TINY, build, random_tokens

from lft.diagnostics import knockout_readings, sequence_losses
from lft.routing import Schedule, make_schedule

SEQUENCES = random_tokens(batch=5)


def rebuilt(model, order):
    """A model with the same weights whose route is written out."""
    blocks = sorted({block - 1 for block in order})
    places = {block: place for place, block in enumerate(blocks)}
    shape = replace(model.shape, num_blocks=len(blocks))
    other = build("explicit", shape, order=[places[block - 1] + 1 for block in order])
    other.embedding.load_state_dict(model.embedding.state_dict())
    other.final_norm.load_state_dict(model.final_norm.state_dict())
    for block, place in places.items():
        other.blocks[place].load_state_dict(model.blocks[block].state_dict())
    return other


def plain_losses(model):
    with torch.no_grad():
        return [
            torch.nn.functional.cross_entropy(model(row[None, :-1])[0], row[1:]).item() for row in SEQUENCES
        ]


def find(readings, statistic, **where):
    (value,) = [
        reading.value
        for reading in readings
        if reading.statistic == statistic
        and all(getattr(reading, key) == value for key, value in where.items())
    ]
    return value


def assert_paired(readings, prefix, losses, trained, **where):
    differences = torch.tensor(losses) - torch.tensor(trained)
    assert find(readings, f"{prefix}_loss", **where) == pytest.approx(sum(losses) / 5, rel=1e-5)
    assert find(readings, f"{prefix}_difference", **where) == pytest.approx(
        differences.mean().item(), rel=1e-3, abs=1e-6
    )
    assert find(readings, f"{prefix}_difference_error", **where) == pytest.approx(
        differences.std().item() / 5**0.5, rel=1e-3, abs=1e-6
    )


@pytest.mark.parametrize(("routing", "options"), [("lft", {}), ("loop", {}), ("standard", {})])
def test_skipping_a_step_is_running_the_route_without_it(routing, options):
    model = build(routing, **options)
    order = model.schedule.block_order
    readings = knockout_readings(model, SEQUENCES, {}, batch_sequences=2)
    trained = plain_losses(model)
    assert find(readings, "route_loss", part="trained") == pytest.approx(sum(trained) / 5, rel=1e-5)
    for number in range(1, len(order) + 1):
        losses = plain_losses(rebuilt(model, order[: number - 1] + order[number:]))
        assert_paired(readings, "skip", losses, trained, step=number)


def test_another_route_is_run_over_the_same_weights():
    model = build("standard")
    routes = {"lft": make_schedule("lft", 4), "backwards": Schedule.from_order([3, 2, 1, 0], 4)}
    readings = knockout_readings(model, SEQUENCES, routes, batch_sequences=3)
    for name, route in routes.items():
        losses = plain_losses(rebuilt(model, route.block_order))
        assert_paired(readings, "route", losses, plain_losses(model), part=name)
    assert model.schedule == make_schedule("standard", 4)


def test_a_visit_beyond_the_trained_ones_takes_the_factors_of_the_last():
    schedule = make_schedule("lft", 4)
    model = build("lft", replace(TINY, conditioning="scale", conditioning_steps=schedule.num_steps))
    with torch.no_grad():
        for number, factor in enumerate(model.visit_factors.values()):
            factor.fill_(0.5 + 0.1 * number)
    readings = knockout_readings(model, SEQUENCES, {"more": make_schedule("repeat", 4, visits=4)}, 5)

    hidden = model.embedding(SEQUENCES[:, :-1])
    with torch.no_grad():
        for block, visits in enumerate(schedule.visit_map):
            for visit in range(4):
                updated = model.blocks[block](hidden, *model.rope(hidden.shape[1]))
                factor = model.visit_factors[f"b{block + 1:02d}_v{min(visit, visits - 1) + 1}"]
                hidden = hidden + factor * (updated - hidden)
        expected = model.head_loss(hidden, SEQUENCES[:, 1:]).item()
    assert find(readings, "route_loss", part="more") == pytest.approx(expected, rel=1e-5)


def test_one_sequence_has_a_difference_and_no_error():
    readings = knockout_readings(build("lft"), SEQUENCES[:1], {}, batch_sequences=4)
    assert {reading.statistic for reading in readings} == {"route_loss", "skip_loss", "skip_difference"}


@settings(max_examples=20, deadline=None)
@given(batch=st.integers(1, 9))
def test_batches_do_not_change_the_loss_of_a_sequence(batch):
    model = build("lft", dtype=torch.float64)
    found = sequence_losses(model, SEQUENCES, model.schedule, batch)
    assert torch.allclose(found, sequence_losses(model, SEQUENCES, model.schedule, 5), rtol=1e-12)
