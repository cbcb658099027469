"""Whether planned runs can decide their claims is said before they start."""

import re

import pytest
from composing import compose_train

from lft.errors import RequestError
from lft.planning import make_plan
from lft.planning.claims import claim_remarks


def remarks(arms, seeds, **claim):
    words = {"statement": "s", "arm": "lft", "smallest_effect": 0.01, "seeds": 2, **claim}
    claims = ",".join(f"{key}:{value}" for key, value in words.items())
    return claim_remarks(
        compose_train(f"routing={arm}", f"seed={seed}", f"+claims={{better:{{{claims}}}}}")
        for arm in arms
        for seed in range(seeds)
    )


def test_a_plan_that_can_decide_needs_no_remark():
    assert remarks(["standard", "lft"], 2) == []


@pytest.mark.parametrize(
    ("arms", "seeds", "claim", "remark"),
    [
        (["standard", "lft"], 2, {"arm": "ltf"}, "no run planned here is 'ltf'; did you mean 'lft'?"),
        (["lft"], 2, {}, "no run planned here is 'standard'; it must come into the same folder of runs"),
    ],
)
def test_arms_that_are_not_planned_are_named(arms, seeds, claim, remark):
    assert remarks(arms, seeds, **claim) == [f"claim better: {remark}"]


def test_a_routing_that_there_is_not_is_refused():
    claim = "+claims={better:{statement:s,arm:ltf,smallest_effect:0.01,seeds:2}}"
    with pytest.raises(
        RequestError, match=r"claims.better.arm=ltf is an unknown routing; choose one of .*lft"
    ):
        make_plan(compose_train(claim))


def test_too_few_seeds_are_counted():
    (remark,) = remarks(["standard", "lft"], 1)
    assert re.fullmatch("claim better: 1 of the 2 pairs that decide are planned at .*, 500M tokens", remark)
