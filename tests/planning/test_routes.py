"""Along which other routes a trained model is run."""

import pytest
from composing import compose_train

from lft.planning import evaluation_routes, make_plan


def routes(*overrides):
    config = compose_train(*overrides)
    found = evaluation_routes(config, make_plan(config).schedule)
    return {label: schedule.block_order for label, schedule in found.items()}


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["routing=standard"], {"lft": [1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5]}),
        (
            ["routing=lft"],
            {
                "standard": [1, 2, 3, 4, 5],
                "revisits=2": [1, 2, 1, 2, 1, 2, 3, 2, 3, 2, 3, 4, 3, 4, 3, 4, 5],
            },
        ),
        (
            [
                "routing=lft",
                "routing.revisits=2",
                "routing.feedback_at=[2]",
                "diagnostics.knockout_routes=[]",
            ],
            {"revisits=1": [1, 2, 1, 2, 3, 4, 5], "revisits=3": [1, 2, 1, 2, 1, 2, 1, 2, 3, 4, 5]},
        ),
        (["routing=lft", "routing.revisits=0"], {"lft": [1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5]}),
        (
            ["routing=loop", "routing.iterations=2", "diagnostics.knockout_routes=[]"],
            {"iterations=1": [1, 2, 3, 4, 5], "iterations=3": [1, 2, 3, 4, 2, 3, 4, 2, 3, 4, 5]},
        ),
        (
            ["routing=repeat", "routing.visits=2", "diagnostics.knockout_routes=[]"],
            {
                "visits=1": [1, 2, 3, 4, 5],
                "visits=3": [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5],
            },
        ),
        # Untied, one revisit more or fewer would need other blocks.
        (["routing=lft", "routing.share=none", "diagnostics.knockout_routes=[standard]"], {}),
        (["routing=deep", "diagnostics.knockout_routes=[standard]"], {}),
    ],
)
def test_routes_are_those_that_the_blocks_allow_and_that_differ(overrides, expected):
    assert routes("scale=nano", *overrides) == expected


def test_a_loop_is_run_with_two_iterations_more_and_fewer():
    found = routes("scale=nano", "routing=loop", "diagnostics.knockout_routes=[]")
    assert {label: len(order) for label, order in found.items()} == {"revisits=0": 5, "revisits=2": 17}
