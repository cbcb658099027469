"""Schedules against the table of the design, and the rules they obey for every size."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lft.errors import RequestError
from lft.routing import ROUTINGS, Step, make_schedule

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
        ("loop", {}, [1, 2, 3, 4, 2, 3, 4, 2, 3, 4, 5]),
        ("loop", {"iterations": 2}, [1, 2, 3, 4, 2, 3, 4, 5]),
        ("loop", {"prelude": 0, "coda": 3, "iterations": 2}, [1, 2, 1, 2, 3, 4, 5]),
        ("repeat", {}, [1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5]),
        ("repeat", {"visits": 2}, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
        ("repeat", {"visits": [1, 1, 3, 1, 1]}, [1, 2, 3, 3, 3, 4, 5]),
        ("mirror", {}, [1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5]),
        ("cycle", {}, [5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5]),
        ("palindrome", {}, [1, 2, 3, 4, 5, 4, 3, 2, 3, 4, 5]),
        ("palindrome", {"turn": 1}, [1, 2, 3, 4, 5, 4, 3, 2, 1, 2, 3, 4, 5]),
        ("deep", {}, list(range(1, 12))),
        ("thin_deep", {}, list(range(1, 12))),
        ("wide", {}, [1, 2, 3, 4, 5]),
        ("shrunk", {}, [1, 2, 1, 2, 3]),
        ("explicit", {"order": [3, 1, 2, 5, 4, 5]}, [3, 1, 2, 5, 4, 5]),
    ],
)
def test_five_blocks_run_in_the_published_order(routing, options, order):
    assert make_schedule(routing, 5, **options).block_order == order


def test_small_and_large_lft():
    assert make_schedule("lft", 1).block_order == [1]
    assert make_schedule("lft", 2).block_order == [1, 2]
    assert make_schedule("lft", 8).block_order == LFT_8
    assert make_schedule("lft", 12).num_steps == 32


@pytest.mark.parametrize(("num_blocks", "stored"), [(5, 3), (8, 4), (11, 5), (14, 6)])
def test_shrunk_is_an_exact_match_in_steps_where_one_exists(num_blocks, stored):
    schedule = make_schedule("shrunk", num_blocks)
    assert schedule == make_schedule("lft", stored)
    assert schedule.num_steps == num_blocks


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


# The routings that take LFT's number of steps, whatever the number of revisits.
EQUAL_STEPS = ["cycle", "deep", "lft", "loop", "mirror", "repeat", "shuffle", "thin_deep"]


def multiset(schedule):
    return sorted(schedule.block_order)


@pytest.mark.parametrize("name", EQUAL_STEPS)
@given(num_blocks=st.integers(3, 40), revisits=st.integers(0, 4))
def test_controls_take_as_many_steps_as_lft(name, num_blocks, revisits):
    lft = make_schedule("lft", num_blocks, revisits=revisits)
    assert make_schedule(name, num_blocks, revisits=revisits).num_steps == lft.num_steps


@given(num_blocks=st.integers(3, 40), revisits=st.integers(0, 4))
def test_a_loop_of_two_r_plus_one_iterations_is_as_long_as_lft(num_blocks, revisits):
    loop = make_schedule("loop", num_blocks, iterations=2 * revisits + 1)
    assert loop.num_steps == make_schedule("lft", num_blocks, revisits=revisits).num_steps


@given(num_blocks=st.integers(2, 40))
def test_a_palindrome_that_turns_at_block_two_is_as_long_as_lft(num_blocks):
    assert make_schedule("palindrome", num_blocks).num_steps == 3 * num_blocks - 4


@given(num_blocks=st.integers(1, 40), revisits=st.integers(0, 4), seed=st.integers(0, 99))
def test_repeat_and_shuffle_have_the_visits_of_lft(num_blocks, revisits, seed):
    lft = make_schedule("lft", num_blocks, revisits=revisits)
    repeat = make_schedule("repeat", num_blocks, revisits=revisits)
    shuffle = make_schedule("shuffle", num_blocks, revisits=revisits, shuffle_seed=seed)
    assert multiset(lft) == multiset(repeat) == multiset(shuffle)
    assert repeat.block_order == sorted(repeat.block_order)


@given(num_blocks=st.integers(1, 40), revisits=st.integers(0, 4))
def test_mirror_has_the_visits_of_lft_from_the_other_end(num_blocks, revisits):
    lft = make_schedule("lft", num_blocks, revisits=revisits)
    mirror = make_schedule("mirror", num_blocks, revisits=revisits)
    assert mirror.visit_map == lft.visit_map[::-1]
    assert mirror.block_order == [num_blocks + 1 - block for block in reversed(lft.block_order)]


@given(num_blocks=st.integers(1, 40), seed=st.integers(0, 99))
def test_shuffle_meets_blocks_in_order_and_ends_at_the_last(num_blocks, seed):
    schedule = make_schedule("shuffle", num_blocks, shuffle_seed=seed)
    assert schedule.without_revisits().block_order == list(range(1, num_blocks + 1))
    assert schedule.block_order[-1] == num_blocks
    assert schedule == make_schedule("shuffle", num_blocks, shuffle_seed=seed)


def test_shuffle_seeds_give_different_orders():
    orders = {tuple(make_schedule("shuffle", 5, shuffle_seed=seed).block_order) for seed in range(20)}
    assert len(orders) > 10


@given(name=st.sampled_from(sorted(set(ROUTINGS) - {"explicit"})), num_blocks=st.integers(3, 40))
def test_every_routing_runs_every_block(name, num_blocks):
    schedule = make_schedule(name, num_blocks)
    assert sum(schedule.visit_map) == schedule.num_steps
    assert min(schedule.visit_map) >= 1


@given(name=st.sampled_from(sorted(set(ROUTINGS) - {"explicit"})), num_blocks=st.integers(3, 40))
def test_explicit_of_an_order_is_the_routing_that_made_it(name, num_blocks):
    schedule = make_schedule(name, num_blocks)
    assert make_schedule("explicit", schedule.num_blocks, order=schedule.block_order) == schedule


@pytest.mark.parametrize(
    ("routing", "options", "complaint"),
    [
        ("lft", {"revisits": -1}, "routing.revisits=-1 must be 0 or more"),
        ("lft", {"span": 0}, "routing.span=0 must be between 1 and 3"),
        ("lft", {"span": 4}, "routing.span=4 must be between 1 and 3"),
        ("lft", {"feedback_at": [1]}, "names block 1; blocks that can feed back: 2 to 4"),
        ("lft", {"feedback_at": [5]}, "names block 5; blocks that can feed back: 2 to 4"),
        ("lft", {"feedback_at": [2, 2]}, "names a block twice"),
        ("lft", {"span": 2, "feedback_at": [2]}, "blocks that can feed back: 3 to 4"),
        ("lft", {"share": [2, 2]}, "routing.share=[2, 2] names a block twice"),
        ("lft", {"share": [6]}, "routing.share names block 6; the blocks are 1 to 5"),
        ("lft", {"share": "some"}, "routing.share=some must be all, none or a list"),
        ("loop", {"prelude": 3, "coda": 2}, "leave no core of 5 blocks to loop"),
        ("loop", {"prelude": -1}, "must be 0 or more"),
        ("loop", {"iterations": 0}, "routing.iterations=0 must be 1 or more"),
        ("repeat", {"visits": [1, 2]}, "routing.visits=[1, 2] must be one number, or a list of 5"),
        ("repeat", {"visits": 0}, "each 1 or more"),
        ("palindrome", {"turn": 6}, "routing.turn=6 must be between 1 and 5"),
        ("explicit", {"order": []}, "routing.order is empty"),
        ("explicit", {"order": [1, 2, 4, 5]}, "never runs block 3"),
        ("explicit", {"order": [0, 1, 2, 3, 4, 5]}, "runs block 0, but the blocks are 1 to 5"),
        ("explicit", {"order": [1, 2, 3, 4, 5, 6]}, "runs block 6, but the blocks are 1 to 5"),
        ("ltf", {}, "routing=ltf is an unknown routing; choose one of "),
    ],
)
def test_impossible_options_say_what_is_possible(routing, options, complaint):
    with pytest.raises(RequestError, match=re.escape(complaint)):
        make_schedule(routing, 5, **options)
