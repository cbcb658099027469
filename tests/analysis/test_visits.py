"""What each visit did, over several runs: tables, figures and the notebook."""

import io
import math
import shutil

import nbformat
import pytest
from analysis.synthetic import add_visits, make_config, make_run, start_run
from analysis.test_notebook import REPOSITORY, outputs

from lft.analysis import (
    execute,
    figure_or_reason,
    gradient_changes,
    loss_by_step,
    losses_without,
    other_routes,
    print_routes,
    print_unfinished,
    print_visits,
    save_pictures,
    share_across_scales,
    skipped_steps,
    visit_cosines,
    visit_heat_map,
    visit_means,
    visit_pairs,
    visits_table,
)
from lft.errors import RequestError


@pytest.fixture
def runs(tmp_path):
    """LFT with two seeds at two scales, and a standard run."""
    for scale in ("nano", "2_5m"):
        for seed in (0, 1):
            folder = make_run(tmp_path / "runs", "lft", seed, 5.0, scale__name=scale)
            add_visits(folder, shift=0.04 * seed)
    add_visits(make_run(tmp_path / "runs", "standard", 0, 5.1, scale__name="nano"))
    return tmp_path / "runs"


def arm(table, routing="lft", scale="nano"):
    return table[(table["routing"] == routing) & (table["scale"] == scale)]


def test_the_table_holds_every_reading_with_its_run(runs):
    table = visits_table(runs)
    assert table["run_id"].nunique() == 5
    assert {"routing", "scale", "budget_tokens", "settings", "seed", "tokens", "part"} <= set(table)
    shares = table[(table["statistic"] == "gradient_share") & (table["seed"] == 0)]
    one = arm(shares)
    last = one[one["tokens"] == 100_000].set_index("step")["value"]
    assert last[2] == pytest.approx(0.12) and last[6] == pytest.approx(0.32)


def test_runs_without_a_record_are_left_out_and_none_at_all_is_said(runs, tmp_path):
    make_run(runs, "loop", 0, 5.0)
    assert "loop" not in set(visits_table(runs)["routing"])
    make_run(tmp_path / "bare", "loop", 0, 5.0)
    with pytest.raises(RequestError, match=r"no run in .* has visits.parquet; train with diagnostics="):
        visits_table(tmp_path / "bare")


def test_unfinished_runs_are_left_out_and_named(runs):
    config = make_config("lft", 2, scale__name="nano")
    failed = start_run(runs, config)
    add_visits(failed, moments=(0, 10_000))
    failed.mark_failed("ValueError: fire")
    assert set(arm(visits_table(runs))["seed"]) == {0, 1}
    assert set(arm(visits_table(runs, unfinished=True))["seed"]) == {0, 1, 2}
    said = io.StringIO()
    print_unfinished(runs, said)
    assert said.getvalue() == f"left out: {failed.name} (failed)\n"
    with pytest.raises(RequestError, match=r"no run in .* is done; what one has measured so far is drawn"):
        visits_table(failed.path)


def test_a_run_counts_once(runs):
    (folder,) = runs.glob("standard-*")
    shutil.copytree(folder, runs / f"{folder.name}-copy")
    with pytest.raises(RequestError, match="are the same run"):
        visits_table(runs)


def test_a_damaged_record_is_named(runs):
    (folder,) = runs.glob("standard-*")
    (folder / "visits.parquet").write_bytes(b"")
    with pytest.raises(RequestError, match=r"visits.parquet is damaged .*; move it away or restore it"):
        visits_table(runs)


def test_seeds_are_averaged_and_other_conditions_are_not(runs):
    means = arm(visit_means(visits_table(runs), "gradient_share"))
    row = means[(means["block"] == 3) & (means["visit"] == 2)].iloc[0]
    assert (row["step"], row["seeds"]) == (7, 2)
    assert row["mean"] == pytest.approx(0.2 + 0.02 + 0.02)
    assert row["sd"] == pytest.approx(0.04 / math.sqrt(2))
    add_visits(make_run(runs, "lft", 0, 5.0, scale__name="nano", optimizer__learning_rate=0.1))
    apart = arm(visit_means(visits_table(runs), "gradient_share"))
    assert len(apart) == 2 * len(means)
    assert set(apart["settings"]) == {
        "optimizer.learning_rate=0.1",
        "optimizer.learning_rate=0.003",
    }


def test_changes_are_told_by_the_first_a_middle_and_the_last_probe(runs):
    changes = arm(gradient_changes(visits_table(runs)))
    row = changes[(changes["block"] == 2) & (changes["visit"] == 1)].iloc[0]
    assert [row["first"], row["middle"], row["last"]] == pytest.approx([0.12, 0.13, 0.14])
    assert list(changes["step"]) == sorted(changes["step"])


def test_pairs_name_both_visits_and_standard_has_none(runs):
    pairs = visit_pairs(visits_table(runs))
    assert "standard" not in set(pairs["routing"])
    of_block = arm(pairs)[arm(pairs)["block"] == 2]
    addresses = of_block[["visit", "other_visit"]].to_numpy().tolist()
    assert addresses == [[1, 2], [1, 3], [2, 3]]
    assert list(of_block["mean"]) == pytest.approx([0.32, 0.22, 0.22])


def test_the_error_of_a_skipped_step_is_over_sequences_and_seeds(runs):
    skipped = skipped_steps(visits_table(runs))
    several, single = arm(skipped), arm(skipped, "standard")
    of_seeds = 0.04 / math.sqrt(2) / math.sqrt(2)
    assert several["error"].to_numpy() == pytest.approx(math.hypot(of_seeds, 0.03))
    assert single["error"].to_numpy() == pytest.approx(0.03)
    assert several.set_index("step")["mean"][4] == pytest.approx(0.05 + 0.02)
    routes = arm(other_routes(visits_table(runs)))
    assert dict(zip(routes["route"], routes["mean"], strict=True)) == pytest.approx(
        {"standard": 0.52, "revisits=2": 0.52}
    )


def test_tables_for_people_are_sorted_by_what_is_missed_least(runs):
    visits, file = visits_table(runs), io.StringIO()
    print_visits(skipped_steps(visits), file)
    lines = [line for line in file.getvalue().splitlines() if line.startswith("lft")]
    of_one_scale = [line.split() for line in lines if " nano " in line]
    assert [words[2] for words in of_one_scale[:2]] == ["5·1", "4·2"]
    print_routes(other_routes(visits), file)
    assert "revisits=2" in file.getvalue()
    empty = io.StringIO()
    print_visits(skipped_steps(visits[visits["statistic"] == "gradient_share"]), empty)
    assert empty.getvalue() == "no run has measured this\n"


@pytest.mark.parametrize(
    ("draw", "panels"),
    [
        (visit_heat_map, ["standard\nnano, 100k tokens", "lft\nnano, 100k tokens", "lft\n2_5m, 100k tokens"]),
        (loss_by_step, ["standard\nnano, 100k tokens", "lft\nnano, 100k tokens", "lft\n2_5m, 100k tokens"]),
        (losses_without, ["standard\nnano, 100k tokens", "lft\nnano, 100k tokens", "lft\n2_5m, 100k tokens"]),
        (share_across_scales, ["standard", "lft"]),
        (visit_cosines, ["block 1", "block 2", "block 3", "block 4"] * 2),
    ],
)
def test_figures_have_a_panel_for_each_arm(runs, draw, panels):
    figure = draw(visits_table(runs))
    figure.savefig(io.BytesIO())
    assert sorted(panel.get_title() for panel in figure.axes if panel.get_title()) == sorted(panels)


def test_a_heat_map_shows_the_mean_over_seeds(runs):
    figure = visit_heat_map(visits_table(runs))
    (panel,) = [panel for panel in figure.axes if panel.get_title().startswith("lft\nnano")]
    assert [label.get_text() for label in panel.get_yticklabels()][:4] == ["1·1", "1·2", "2·1", "2·2"]
    assert panel.images[0].get_array()[2].tolist() == pytest.approx([0.12, 0.13, 0.14])


def test_shares_are_coloured_from_0_to_1_and_wide_ranges_by_their_logarithm(runs):
    visits = visits_table(runs)
    share = visit_heat_map(visits, "gradient_share").axes[0].images[0].norm
    assert (type(share).__name__, share.vmin, share.vmax) == ("Normalize", 0.0, 1.0)
    visits.loc[visits["statistic"] == "update_ratio", "value"] **= 3
    ratio = visit_heat_map(visits, "update_ratio").axes[0].images[0].norm
    assert type(ratio).__name__ == "LogNorm"


def test_what_was_not_measured_is_said_in_place_of_a_figure(runs):
    visits = visits_table(runs)
    standard = visits[visits["routing"] == "standard"]
    assert figure_or_reason(visit_cosines, standard) == (
        "no run revisits a block; there are no pairs of visits to compare"
    )
    with pytest.raises(RequestError, match="no run has measured colour"):
        visit_heat_map(visits, "colour")


def test_pictures_of_a_run_are_written_into_its_folder(tmp_path):
    folder = make_run(tmp_path, "standard", 0, 5.1)
    add_visits(folder)
    written = save_pictures(folder)
    assert set(written) == {"gradient_share", "loss_by_step", "losses_without"}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written.values())
    assert {path.parent for path in written.values()} == {folder.pictures}


def test_a_run_with_one_probe_can_be_drawn(tmp_path):
    folder = make_run(tmp_path, "lft", 0, 5.1)
    add_visits(folder, moments=(0,))
    assert set(save_pictures(folder)) == {"gradient_share", "gradient_cosines", "loss_by_step"}
    changes = gradient_changes(visits_table(tmp_path))
    assert changes["middle"].isna().all() and not changes["last"].isna().any()


@pytest.mark.slow
@pytest.mark.parametrize("location", ["", "standard-*"])
def test_the_notebook_answers_from_any_runs(runs, tmp_path, location):
    target = tmp_path / "visits.ipynb"
    execute(REPOSITORY / "notebooks" / "visits.py", target, runs / location if location else runs)
    data = [output.get("data", {}) for output in outputs(nbformat.read(target, as_version=4))]
    drawn = sum("image/png" in item for item in data)
    assert drawn == (5 if location else 6)
