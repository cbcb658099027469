"""Seed bands, frontiers, and figures as files."""

import math

import numpy as np
import pandas as pd
import pytest
from analysis.evaluated import add_evaluation, choice_item
from analysis.synthetic import finish, log_curve, make_config, make_run, start_run

from lft.analysis import (
    comparison_table,
    curves_table,
    deployment_table,
    differences_by_budget,
    frontier,
    loss_bands,
    runs_table,
    seed_bands,
    task_differences,
    task_forest,
    write_figures,
)
from lft.analysis.bands import runs_left_out
from lft.analysis.figures import routing_colour
from lft.analysis.intervals import t_interval
from lft.errors import RequestError
from lft.runs import find_runs


@pytest.fixture
def runs(tmp_path):
    for seed, shift in enumerate((0.0, 0.1, 0.05)):
        make_run(tmp_path / "runs", "standard", seed, 5.3 + shift)
        make_run(tmp_path / "runs", "lft", seed, 5.2 + shift)
    return tmp_path / "runs"


def test_bands_are_t_intervals_over_seeds(runs):
    bands = seed_bands(curves_table(runs))
    last = bands[bands["routing"] == "lft"].iloc[-1]
    assert (last["x"], last["seeds"]) == (100_000, 3)
    assert last["mean"] == pytest.approx(5.25)
    assert (last["low"], last["high"]) == pytest.approx(t_interval([5.2, 5.3, 5.25]))


def test_runs_of_other_settings_are_not_pooled(runs):
    make_run(runs, "lft", 0, 9.0, optimizer__learning_rate=0.1)
    bands = seed_bands(curves_table(runs))
    ends = bands[(bands["routing"] == "lft") & (bands["x"] == 100_000)]
    assert sorted(ends["seeds"]) == [1, 3]
    assert "optimizer.learning_rate=0.1" in set(ends["settings"])
    assert math.isnan(ends.loc[ends["seeds"] == 1, "low"].iloc[0])


def test_a_mean_never_changes_its_seeds_along_a_curve(runs):
    """A run that stopped halfway is in no mean, and is named."""
    stopped = start_run(runs, make_config("lft", 7))
    log_curve(stopped, 1.0, 40)
    stopped.mark_failed("KeyboardInterrupt")
    bands = seed_bands(curves_table(runs))
    assert set(bands.loc[bands["routing"] == "lft", "seeds"]) == {3}
    (words,) = runs_left_out(runs_table(runs))
    assert words.endswith(f"means are over finished runs: {stopped.name}, failed.")


def test_where_no_run_is_finished_each_is_a_thin_line(runs):
    for seed, last in ((0, 40), (1, 60)):
        log_curve(start_run(runs, make_config("loop", seed)), 5.0, last)
    (panel,) = loss_bands(curves_table(runs)).axes
    lines = {line.get_label(): line for line in panel.get_lines()}
    assert lines["loop, seed 0, unfinished"].get_linewidth() < lines["lft"].get_linewidth()
    assert lines["loop, seed 1, unfinished"].get_color() == routing_colour("loop")
    (words,) = runs_left_out(runs_table(runs))
    assert words.startswith("No run of these arms is finished")


def test_seeds_measured_at_other_steps_are_lines_of_their_own(runs):
    config = make_config("lft", 7)
    folder = start_run(runs, config)
    log_curve(folder, 5.0, 80)
    finish(folder, config, 5.0)
    bands = seed_bands(curves_table(runs))
    assert set(bands.loc[bands["routing"] == "lft", "run"]) == {"seed 0", "seed 1", "seed 2", "seed 7"}


@pytest.mark.parametrize("lost", [math.nan, math.inf])
def test_a_run_without_a_finite_loss_is_in_no_mean_and_named(runs, lost):
    diverged = make_run(runs, "lft", 7, lost)
    only = make_run(runs, "loop", 0, lost)
    bands = seed_bands(curves_table(runs))
    assert "loop" not in set(bands["routing"]) and np.isfinite(bands["mean"]).all()
    (words,) = runs_left_out(runs_table(runs))
    assert words == f"Without a finite loss at the end: {only.name}; {diverged.name}."
    table = deployment_table(runs).set_index("routing")
    assert table.loc["loop", "runs"] == 0 and not table.loc["loop", "stored_bytes_frontier"]
    assert table.loc["loop", "note"] == f"{only.name} left out: no finite loss"
    assert table.loc["lft", "runs"] == 3


def test_arms_are_weighed_over_the_seeds_that_all_have(runs):
    """An arm that ran only the luckiest seed does not look better for it."""
    make_run(runs, "loop", 0, 5.29)
    table = deployment_table(runs).set_index("routing")
    assert set(table["runs"]) == {1} and table.loc["standard", "val_loss"] == pytest.approx(5.3)
    assert table.loc["lft", "note"] == "seeds 1, 2 left out: not of all routings"
    assert table.loc["loop", "note"] == ""


def test_budgets_trained_otherwise_are_not_joined(runs):
    for routing in ("standard", "lft"):
        make_run(
            runs, routing, 0, 5.0, budget={"tokens": 200_000, "milestones": 5}, optimizer__learning_rate=0.1
        )
    table = comparison_table(runs)
    assert set(table["settings"]) == {"optimizer.learning_rate=0.003", "optimizer.learning_rate=0.1"}
    (panel,) = differences_by_budget(table).axes
    assert len(panel.get_lines()) == 3, "a line for each rate, and zero"


def test_the_frontier_holds_what_nothing_beats_in_both(runs):
    for seed in range(3):
        make_run(runs, "deep", seed, 6.0)
    table = deployment_table(runs).set_index("routing")
    # Equal bytes: the lower loss wins. Fewer FLOPs: standard is on the frontier in spite of its loss.
    assert table.loc["lft", "stored_bytes_frontier"] and not table.loc["standard", "stored_bytes_frontier"]
    assert table.loc["standard", "forward_flops_per_token_frontier"]
    assert not table.loc["deep", "forward_flops_per_token_frontier"]
    assert table.loc["lft", "runs"] == 3 and table.loc["lft", "val_loss"] == pytest.approx(5.25)


def test_every_routing_has_its_colour_in_every_figure(runs):
    figure = loss_bands(curves_table(runs))
    (panel,) = figure.axes
    colours = {line.get_label(): line.get_color() for line in panel.get_lines()}
    assert colours == {name: routing_colour(name) for name in ("standard", "lft")}
    table = comparison_table(runs)
    with pytest.raises(RequestError, match="all pairs have one budget; differences_by_routing draws them"):
        differences_by_budget(table)
    twice = pd.concat([table, table.assign(budget_tokens=200_000)])
    (panel,) = differences_by_budget(twice).axes
    assert panel.get_lines()[0].get_color() == routing_colour("lft")


def test_tasks_are_drawn_with_their_intervals(runs):
    for folder in find_runs(runs):
        add_evaluation(folder, "piqa", [choice_item(item, item % 3 > 0) for item in range(6)])
    (panel,) = task_forest(task_differences(runs)).axes
    assert [label.get_text() for label in panel.get_yticklabels()][-1] == "piqa, acc, lft, seed 0"


def test_figures_for_a_paper_are_png_and_svg_with_text(runs, tmp_path):
    paths = write_figures(runs, tmp_path / "figures")
    assert {path.suffix for path in paths} == {".png", ".svg"}
    names = {path.stem for path in paths}
    assert {"loss_by_tokens", "differences_by_routing", "frontier_stored_bytes"} <= names
    assert "tasks" not in names
    drawn = (tmp_path / "figures" / "loss_by_tokens.svg").read_text()
    assert "training tokens" in drawn
    before = (tmp_path / "figures" / "loss_by_tokens.svg").read_bytes()
    write_figures(runs, tmp_path / "figures")
    assert (tmp_path / "figures" / "loss_by_tokens.svg").read_bytes() == before


def test_nothing_to_draw_is_said(tmp_path):
    start_run(tmp_path / "runs", make_config("lft", 0))
    with pytest.raises(RequestError, match="no run has validated yet"):
        loss_bands(curves_table(tmp_path / "runs"))
    with pytest.raises(RequestError, match="no run that is done recorded stored_bytes"):
        frontier(deployment_table(tmp_path / "runs"))
    with pytest.raises(RequestError, match="there is no cost 'joy'; choose one of stored_bytes"):
        frontier(deployment_table(tmp_path / "runs"), "joy")
