"""Schedules against the table of the design, and the rules they obey for every size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lft.errors import RequestError
from lft.routing import ROUTINGS, Schedule, Step, make_schedule

LFT_8 = [1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6, 5, 6, 7, 6, 7, 8]


@pytest.mark.parametrize(
    ("routing", "options", "order"),
    [
        ("standard", {}, [1, 2, 3, 4, 5]),
        ("lft", {}, [1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5]),
        ("lft", {"revisits": 0}, [1, 2, 3, 4, 5]),
        ("lft", {"revisits": 2}, [1, 2, 1, 2, 1, 2, 3, 2, 3, 2, 3, 4, 3, 4, 3, 4, 5]),
        ("lft", {"feedback_at": [2]}, [1, 2, 1, 2, 3, 4, 5]),
        ("lft", {"feedback_at": [4]}, [1, 2, 3, 4, 3, 4, 5]),
        ("lft", {"feedback_at": []}, [1, 2, 3, 4, 5]),
        ("lft", {"span": 2}, [1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5]),
    ],
)
def test_five_blocks_run_in_the_published_order(routing, options, order):
    assert make_schedule(routing, 5, **options).block_order == order


def test_small_and_large_lft():
    assert make_schedule("lft", 1).block_order == [1]
    assert make_schedule("lft", 2).block_order == [1, 2]
    assert make_schedule("lft", 8).block_order == LFT_8
    assert make_schedule("lft", 12).num_steps == 32


def test_visits_are_numbered_per_block():
    schedule = make_schedule("lft", 5)
    assert schedule.visit_map == [2, 3, 3, 2, 1]
    assert schedule.steps[:4] == (Step(0, 0), Step(1, 0), Step(0, 1), Step(1, 1))


@pytest.mark.parametrize("num_blocks", range(2, 65))
def test_lft_takes_3n_minus_4_steps(num_blocks):
    assert make_schedule("lft", num_blocks).num_steps == 3 * num_blocks - 4


@given(num_blocks=st.integers(2, 40), revisits=st.integers(0, 4))
def test_steps_grow_with_revisits(num_blocks, revisits):
    steps = make_schedule("lft", num_blocks, revisits=revisits).num_steps
    assert steps == 2 + (2 * revisits + 1) * (num_blocks - 2)


@given(data=st.data(), num_blocks=st.integers(3, 40), revisits=st.integers(0, 4))
def test_steps_grow_with_span(data, num_blocks, revisits):
    span = data.draw(st.integers(1, num_blocks - 2))
    steps = make_schedule("lft", num_blocks, revisits=revisits, span=span).num_steps
    assert steps == num_blocks + (span + 1) * revisits * (num_blocks - 1 - span)


@given(data=st.data(), num_blocks=st.integers(3, 40), revisits=st.integers(0, 3))
def test_each_feedback_position_adds_one_segment_per_revisit(data, num_blocks, revisits):
    positions = data.draw(st.lists(st.integers(2, num_blocks - 1), unique=True))
    schedule = make_schedule("lft", num_blocks, revisits=revisits, feedback_at=positions)
    assert schedule.num_steps == num_blocks + 2 * revisits * len(positions)


@given(name=st.sampled_from(sorted(ROUTINGS)), num_blocks=st.integers(1, 40))
def test_every_routing_runs_every_block_and_ends_at_the_last(name, num_blocks):
    schedule = make_schedule(name, num_blocks)
    assert sum(schedule.visit_map) == schedule.num_steps
    assert min(schedule.visit_map) >= 1
    assert schedule.block_order[-1] == num_blocks
    first_visits = [step.block for step in schedule.steps if step.visit == 0]
    assert first_visits == list(range(num_blocks))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"revisits": -1}, "routing.revisits=-1 must be 0 or more"),
        ({"span": 0}, "routing.span=0 must be between 1 and 3"),
        ({"span": 4}, "routing.span=4 must be between 1 and 3"),
        ({"feedback_at": [1]}, "names block 1; blocks that can feed back: 2 to 4"),
        ({"feedback_at": [5]}, "names block 5; blocks that can feed back: 2 to 4"),
        ({"feedback_at": [2, 2]}, "names a block twice"),
        ({"span": 2, "feedback_at": [2]}, "blocks that can feed back: 3 to 4"),
    ],
)
def test_impossible_options_say_what_is_possible(options, complaint):
    with pytest.raises(RequestError, match=complaint.replace(".", r"\.")):
        make_schedule("lft", 5, **options)


def test_an_unknown_routing_lists_the_known_ones():
    with pytest.raises(RequestError, match=r"unknown routing 'ltf'; choose one of lft, standard"):
        make_schedule("ltf", 5)


@pytest.mark.parametrize(
    ("order", "complaint"),
    [([0, 1, 3], "never runs block 3"), ([0, 1, 2, 3, 4], "runs block 5"), ([], "never runs block 1")],
)
def test_an_order_must_run_the_stored_blocks_and_no_others(order, complaint):
    with pytest.raises(RequestError, match=complaint):
        Schedule.from_order(order, 4)
