"""Names of rows: what varies, no more, and no two alike."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from lft.analysis.names import row_names


def table(**columns):
    return pd.DataFrame(columns)


def test_only_conditions_that_vary_are_named():
    arms = {"routing": ["lft", "loop"], "scale": "nano", "budget_tokens": 1_000_000, "settings": ""}
    assert row_names(table(**arms)) == ["lft", "loop"]
    two_budgets = {**arms, "routing": "lft", "budget_tokens": [1_000_000, 2_000_000]}
    assert row_names(table(**two_budgets)) == ["lft, 1M tokens", "lft, 2M tokens"]


def test_settings_lose_their_groups_and_what_all_rows_share():
    settings = ["optimizer.learning_rate=0.1 model.rope=5", "optimizer.learning_rate=0.2 model.rope=5"]
    assert row_names(table(routing="lft", settings=settings)) == [
        "lft, learning_rate=0.1",
        "lft, learning_rate=0.2",
    ]


def test_keys_of_one_ending_keep_their_groups():
    settings = ["model.name=a data.name=b", "model.name=c data.name=d"]
    assert row_names(table(routing="lft", settings=settings))[0] == "lft, model.name=a data.name=b"


row = st.tuples(
    st.sampled_from(["lft", "loop"]),
    st.sampled_from(["nano", "2_5m"]),
    st.sampled_from([1_000_000, 1_000_001]),
    st.sampled_from(["", "optimizer.learning_rate=0.1", "data.name=sample seed_offset=1"]),
    st.integers(0, 1),
)


@given(st.lists(row, min_size=1, max_size=8))
def test_no_two_names_are_alike(rows):
    columns = ["routing", "scale", "budget_tokens", "settings", "seed"]
    names = row_names(pd.DataFrame(rows, columns=columns))
    assert len(set(names)) == len(rows)
    assert all(name.startswith(made[0]) for name, made in zip(names, rows, strict=True))
