"""How people call an arm, and how a schedule is drawn."""

import pytest
from composing import compose_train

from lft.planning import make_plan
from lft.planning.picture import draw
from lft.routing import make_schedule


@pytest.mark.parametrize(
    ("overrides", "label"),
    [
        (["routing=standard"], "standard"),
        (["routing=lft"], "lft"),
        (["routing=lft", "routing.revisits=2", "routing.share=[2,3]"], "lft share=[2,3] revisits=2"),
        (["routing=explicit", "routing.order=[1,2,1,2,3,4,5]"], "explicit order=[1,2,1,2,3,4,5]"),
        (["routing=loop", "sharing.gradient=last", "match=flops"], "loop gradient=last match=flops:standard"),
        (["routing=lft", "seed=7", "optimizer.learning_rate=0.1"], "lft"),
    ],
)
def test_a_label_names_what_is_unusual_in_an_arm(overrides, label):
    assert make_plan(compose_train(*overrides)).label == label


def test_a_schedule_is_drawn_with_the_deepest_block_on_top():
    assert draw(make_schedule("lft", 3)) == [
        "  3         1",
        "  2   1   2",
        "  1 1   2",
    ]


def test_a_long_schedule_leaves_out_the_spaces():
    lines = draw(make_schedule("lft", 12), width=50)
    assert max(map(len, lines)) == 4 + 32


def test_a_deep_schedule_is_a_curve_of_two_blocks_a_line():
    lines = draw(make_schedule("deep", 12))
    assert len(lines) == 16
    assert lines[-1] == "  1 ▄▀"
