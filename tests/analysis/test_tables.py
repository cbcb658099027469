import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from analysis.synthetic import finish, log_curve, log_row, make_config, make_run, start_run

import lft
from lft.analysis import curves_table, loss_against, runs_table
from lft.errors import RequestError


def test_a_done_run_shows_its_summary_and_plan(tmp_path):
    make_run(tmp_path, "lft", seed=0, val_loss=5.25)
    (row,) = runs_table(tmp_path).to_dict("records")
    assert row["run_id"].startswith("lft-nano-100k-s0-")
    assert (row["state"], row["routing"], row["scale"], row["seed"]) == ("done", "lft", "nano", 0)
    assert (row["num_blocks"], row["num_steps"], row["steps"], row["planned_steps"]) == (5, 11, 100, 100)
    assert (row["train_tokens"], row["val_loss"], row["flop_ratio"]) == (100_000, 5.25, 2.0)
    assert row["train_flops"] == 100_000 * 10_000_000


def test_an_unfinished_run_shows_the_latest_it_logged(tmp_path):
    folder = start_run(tmp_path, make_config())
    log_row(folder, 10, val__loss=6.0, val__bits_per_byte=2.0, train__loss=6.1)
    log_row(folder, 20, train__loss=5.9)
    (row,) = runs_table(tmp_path).to_dict("records")
    assert (row["state"], row["steps"], row["train_tokens"]) == ("started", 20, 20_000)
    assert (row["val_loss"], row["val_bits_per_byte"]) == (6.0, 2.0)
    assert row["train_flops"] == 20_000 * 10_000_000


def test_a_run_that_has_logged_nothing_and_one_without_its_record_are_listed(tmp_path):
    start_run(tmp_path, make_config(seed=0))
    (start_run(tmp_path, make_config(seed=1)).path / "run.json").unlink()
    table = runs_table(tmp_path)
    assert list(table["seed"]) == [0, 1]
    assert table["val_loss"].isna().all() and table["steps"].isna().all()
    assert curves_table(tmp_path).empty


def test_a_failed_run_names_its_cause(tmp_path):
    start_run(tmp_path, make_config()).mark_failed("Traceback\nFloatingPointError: training diverged")
    (row,) = runs_table(tmp_path).to_dict("records")
    assert (row["state"], row["failure"]) == ("failed", "FloatingPointError: training diverged")


def test_rows_logged_again_after_a_resume_are_merged_by_the_last_write(tmp_path):
    folder = start_run(tmp_path, make_config())
    log_row(folder, 10, train__loss=7.0, val__loss=6.5)
    log_row(folder, 20, train__loss=6.9)
    log_row(folder, 10, train__loss=5.0)
    curves = curves_table(tmp_path)
    assert list(curves["step"]) == [10, 20]
    assert list(curves["train/loss"]) == [5.0, 6.9]
    assert curves["val/loss"].iloc[0] == 6.5 and math.isnan(curves["val/loss"].iloc[1])


def test_curves_carry_the_training_flops_up_to_each_step(tmp_path):
    log_row(start_run(tmp_path, make_config("lft")), 10, train__loss=7.0)
    log_row(start_run(tmp_path, make_config("standard")), 10, train__loss=7.0)
    curves = curves_table(tmp_path).set_index("routing")
    assert curves.loc["standard", "train/flops"] == 10_000 * 5_000_000
    assert curves.loc["lft", "train/flops"] == 10_000 * 10_000_000


def test_runs_are_sorted_by_size_budget_seed_and_routing_with_standard_first(tmp_path):
    for routing in ("lft", "standard"):
        for seed in (1, 0):
            config = make_config(routing, seed)
            start_run(tmp_path, config)
        start_run(tmp_path, make_config(routing, 0, budget__tokens=50_000))
        big = make_config(routing, 0, scale__name="10m")
        start_run(tmp_path, big, costs={"parameters": 10**7})
    table = runs_table(tmp_path)
    assert list(
        zip(table["scale"], table["budget_tokens"], table["seed"], table["routing"], strict=True)
    ) == [
        ("nano", 50_000, 0, "standard"),
        ("nano", 50_000, 0, "lft"),
        ("nano", 100_000, 0, "standard"),
        ("nano", 100_000, 0, "lft"),
        ("nano", 100_000, 1, "standard"),
        ("nano", 100_000, 1, "lft"),
        ("10m", 100_000, 0, "standard"),
        ("10m", 100_000, 0, "lft"),
    ]


def test_variants_of_one_routing_are_told_apart_by_the_label_they_recorded(tmp_path):
    start_run(tmp_path, make_config("lft"))
    start_run(tmp_path, make_config("lft", routing__revisits=2), arm="lft revisits=2")
    assert set(runs_table(tmp_path)["routing"]) == {"lft", "lft revisits=2"}


def test_a_folder_that_is_no_run_is_refused_by_name(tmp_path):
    (tmp_path / "exported").mkdir()
    (tmp_path / "exported" / "config.json").write_text(json.dumps({"model_type": "llama"}))
    with pytest.raises(RequestError, match="exported is not a run"):
        runs_table(tmp_path)


def test_figures_draw_every_run_of_every_scale(tmp_path):
    for routing, loss in (("standard", 5.3), ("lft", 5.2)):
        make_run(tmp_path, routing, 0, loss)
        make_run(tmp_path, routing, 0, loss - 1, scale__name="2_5m")
    unfinished = start_run(tmp_path, make_config("lft", 1))
    log_row(unfinished, 10, train__loss=7.0)
    for x in ("train/tokens", "train/flops"):
        figure = loss_against(curves_table(tmp_path), x=x)
        assert sorted(len(panel.lines) for panel in figure.axes) == [4, 6]
        assert all(panel.get_xscale() == "linear" for panel in figure.axes)
        figure.canvas.draw()


def test_the_axis_turns_logarithmic_over_a_wide_range_of_budgets(tmp_path):
    for budget in (20_000, 1_000_000):
        make_run(tmp_path, "lft", 0, 5.0, budget__tokens=budget)
    (panel,) = loss_against(curves_table(tmp_path)).axes
    assert panel.get_xscale() == "log"


def test_figures_refuse_what_cannot_be_drawn(tmp_path):
    folder = start_run(tmp_path, make_config())
    with pytest.raises(RequestError, match="nothing to draw"):
        loss_against(curves_table(tmp_path))
    log_curve(folder, 5.0, 20)
    with pytest.raises(RequestError, match="no column 'tokenz'"):
        loss_against(curves_table(tmp_path), x="tokenz")


@pytest.mark.slow
def test_analysis_needs_no_training_code(tmp_path):
    config = make_config("standard")
    finish(start_run(tmp_path, config), config, 5.0)
    program = (
        "import sys; from lft.analysis import *; "
        f"print_runs(runs_table({str(tmp_path)!r})); paired_differences({str(tmp_path)!r}); "
        "print(sorted({'torch', 'lightning', 'wandb', 'hydra', 'lft.training'} & set(sys.modules)))"
    )
    source = str(Path(lft.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("run.json", {"plan": None}),
        ("run.json", {"costs": {}}),
        ("summary.json", {"train_tokens": None}),
    ],
)
def test_a_record_that_lost_what_tables_need_is_named(tmp_path, file, change):
    folder = make_run(tmp_path, "lft", 0, 5.0)
    content = {**folder.read(file), **change}
    whole = {key: value for key, value in content.items() if value is not None}
    (folder.path / file).write_text(json.dumps(whole))
    with pytest.raises(
        RequestError, match=rf"{folder.name} is done, but its {file} is missing or incomplete"
    ):
        runs_table(tmp_path)


def test_strange_lines_neither_rename_a_run_nor_end_the_reading(tmp_path):
    folder = make_run(tmp_path, "lft", 0, 5.0)
    with (folder.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 101, "tokens": 5, "seed": 4, "val/loss": "x"}\n')
    table = curves_table(tmp_path)
    assert set(table["seed"]) == {0} and math.isnan(table["val/loss"].iloc[-1])


def test_damaged_lines_are_counted_in_a_warning(tmp_path):
    folder = make_run(tmp_path, "lft", 0, 5.0)
    lines = (folder.path / "metrics.jsonl").read_text().splitlines()
    (folder.path / "metrics.jsonl").write_text("\n".join(['{"bro', *lines, '{"step": 1']))
    with pytest.warns(UserWarning, match=f"{folder.name}: 2 damaged lines of metrics.jsonl left out"):
        assert len(curves_table(tmp_path)) == len(lines)
