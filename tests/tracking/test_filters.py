"""What narrows the runs of a project."""

import pytest

from lft.errors import RequestError
from lft.tracking.filters import parse_filter


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("", {}),
        (
            '{"config.seed": {"$gt": 2}, "state": "finished"}',
            {"config.seed": {"$gt": 2}, "state": "finished"},
        ),
        ("arm=lft,scale_name=10m", {"config.arm": "lft", "config.scale_name": "10m"}),
        ("routing.name=lft, seed=0", {"config.routing.name": "lft", "config.seed": 0}),
        ("scale.qk_norm=true", {"config.scale.qk_norm": True}),
        ("arm=lft revisits=2", {"config.arm": "lft revisits=2"}),
        ("state=finished,config.seed=1", {"state": "finished", "config.seed": 1}),
        ("summary_metrics.val_loss=3.5", {"summary_metrics.val_loss": 3.5}),
    ],
)
def test_a_filter_is_json_or_plain_conditions_on_the_config(text, meaning):
    assert parse_filter(text) == meaning


@pytest.mark.parametrize("text", ['{"state": ', "lft", "arm=", "=lft", "arm=lft,10m"])
def test_what_is_neither_is_refused_with_examples(text):
    with pytest.raises(RequestError, match="scale_name=10m"):
        parse_filter(text)
