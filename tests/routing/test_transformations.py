"""What can be made of any schedule: untied, without its revisits, with some visits detached."""

from hypothesis import assume, given
from hypothesis import strategies as st

from lft.routing import Schedule, Step, make_schedule


@st.composite
def schedules(draw, max_blocks=8):
    """Any order that runs every block."""
    num_blocks = draw(st.integers(1, max_blocks))
    blocks = st.integers(0, num_blocks - 1)
    order = [*range(num_blocks), *draw(st.lists(blocks, max_size=15))]
    return Schedule.from_order(draw(st.permutations(order)), num_blocks)


@given(schedule=schedules())
def test_nothing_shared_is_a_plain_stack(schedule):
    assume(schedule.num_steps > schedule.num_blocks)
    untied = schedule.untied()
    assert untied.block_order == list(range(1, schedule.num_steps + 1))
    assert untied.num_blocks == schedule.num_steps


@given(data=st.data(), schedule=schedules())
def test_shared_blocks_keep_their_weights_and_the_others_do_not(data, schedule):
    shared = data.draw(st.sets(st.integers(0, schedule.num_blocks - 1)))
    untied = schedule.untied(shared)
    owner = {}
    for step, before in zip(untied.steps, schedule.steps, strict=True):
        expected = before.block if before.block in shared else before
        assert owner.setdefault(step.block, expected) == expected
    assert len(set(owner.values())) == len(owner) == untied.num_blocks


@given(schedule=schedules())
def test_everything_shared_is_the_schedule_itself(schedule):
    assert schedule.untied(range(schedule.num_blocks)) == schedule


def test_lft_that_shares_only_two_blocks():
    # Of 1 2 1 2 3 2 3 4 3 4 5: the second visits of 1 and 4 have weights of their own.
    schedule = make_schedule("lft", 5, share=[2, 3])
    assert schedule.block_order == [1, 2, 3, 2, 4, 2, 4, 5, 4, 6, 7]
    assert schedule.visit_map == [1, 3, 1, 3, 1, 1, 1]


def test_deep_is_lft_with_nothing_shared():
    assert make_schedule("deep", 5) == make_schedule("lft", 5, share="none")
    assert make_schedule("deep", 5).num_blocks == 11


@given(schedule=schedules())
def test_without_revisits_every_block_runs_once_in_the_order_of_first_visits(schedule):
    once = schedule.without_revisits()
    assert once.visit_map == [1] * schedule.num_blocks
    assert set(once.steps) <= set(schedule.steps)


@given(schedule=schedules())
def test_one_visit_of_each_block_stays_when_the_others_are_detached(schedule):
    assert schedule.detached("all") == frozenset()
    for gradient, visit in (("first", lambda visits: 0), ("last", lambda visits: visits - 1)):
        trained = set(schedule.steps) - schedule.detached(gradient)
        expected = {Step(block, visit(visits)) for block, visits in enumerate(schedule.visit_map)}
        assert trained == expected
