"""Tables of tasks: scores, categories, averages, paired differences."""

import io
import math

import numpy as np
import pytest
from analysis.evaluated import add_evaluation, choice_item, make_pair, text_item
from analysis.synthetic import make_run

from lft.analysis import items_table, print_evaluations, scores_table, task_differences
from lft.analysis.elo import elo_rating
from lft.analysis.estimates import mcnemar_p
from lft.errors import RequestError
from lft.runs import write_evaluation

STANDARD = [True, False, True, False, True, False, False, False]
LFT = [True, True, True, True, True, False, False, True]


@pytest.fixture
def pair(tmp_path):
    standard, lft = make_pair(tmp_path / "runs")
    for folder, answers in ((standard, STANDARD), (lft, LFT)):
        add_evaluation(folder, "piqa", [choice_item(number, right) for number, right in enumerate(answers)])
    return standard, lft


def only(table, **values):
    for name, value in values.items():
        table = table[table[name] == value]
    (row,) = table.to_dict("records")
    return row


def test_each_run_has_its_accuracy_with_chance_and_interval(pair, tmp_path):
    scores = scores_table(tmp_path / "runs")
    row = only(scores, task="piqa", routing="lft")
    assert (row["items"], row["value"], row["chance"]) == (8, 6 / 8, 0.5)
    assert 0 < row["low"] < row["value"] < row["high"] < 1
    assert list(scores["task"])[-2:] == ["average", "average"]
    assert only(scores, task="average", routing="lft")["value"] == 6 / 8


def test_the_difference_is_paired_over_items(pair, tmp_path):
    row = only(task_differences(tmp_path / "runs"), task="piqa")
    differences = np.array(LFT, float) - np.array(STANDARD, float)
    assert (row["routing"], row["baseline"]) == ("lft", "standard")
    assert row["difference"] == differences.mean() == 3 / 8
    assert row["error"] == pytest.approx(differences.std(ddof=1) / math.sqrt(8))
    assert row["low"] == pytest.approx(row["difference"] - 2.3646 * row["error"], abs=1e-4)
    assert row["mcnemar_p"] == mcnemar_p(np.array(LFT), np.array(STANDARD)) == 0.25
    assert row["detectable"] == pytest.approx(2.8016 * row["error"], rel=1e-4)


def test_items_of_one_passage_widen_the_error(tmp_path):
    standard, lft = make_pair(tmp_path / "runs")
    for folder, answers in ((standard, STANDARD), (lft, LFT)):
        items = [
            choice_item(2 * number + twin, right, cluster=f"passage {number}")
            for number, right in enumerate(answers)
            for twin in (0, 1)
        ]
        add_evaluation(folder, "piqa", items)
    row = only(task_differences(tmp_path / "runs"), task="piqa")
    single = (np.array(LFT, float) - np.array(STANDARD, float)).std(ddof=1) / math.sqrt(8)
    assert row["error"] == pytest.approx(single, rel=0.05)


def bench(number, right, weight, category, difficulty, elo):
    return choice_item(
        number, right, weight=weight, category=category, difficulty=difficulty, item_elo=elo, chance=0.25
    )


def test_base_bench_is_weighted_and_rated(tmp_path):
    folder = make_run(tmp_path / "runs", "lft", 0, 5.0)
    games = [(True, 1.0, 750.0), (False, 1.5, 900.0), (True, 3.15, 1200.0), (False, 1.4, 1050.0)]
    items = [
        bench(number, right, weight, "quantitative" if number < 2 else "code_completion", level, elo)
        for (number, (right, weight, elo)), level in zip(
            enumerate(games), ("easy", "hard", "hard", "easy"), strict=True
        )
    ]
    add_evaluation(folder, "base_bench", items)
    scores = scores_table(tmp_path / "runs")
    whole = scores[(scores["task"] == "base_bench") & (scores["kind"] == "")]
    assert only(whole, metric="acc")["value"] == 0.5
    assert only(whole, metric="weighted_acc")["value"] == pytest.approx(4.15 / 7.05)
    assert only(whole, metric="elo")["value"] == pytest.approx(1073.3874441008725, abs=1e-9)
    assert only(scores, group="code_completion", metric="weighted_acc")["value"] == pytest.approx(3.15 / 4.55)
    assert only(scores, kind="difficulty", group="easy", metric="acc")["value"] == 0.5
    columns = (np.array(column) for column in zip(*[(w, e, r) for r, w, e in games], strict=True))
    assert only(whole, metric="elo")["value"] == elo_rating(*columns)


def test_texts_are_averaged_over_bytes_and_tokens(tmp_path):
    standard, lft = make_pair(tmp_path / "runs")
    for folder, worse in ((standard, 0.0), (lft, 3.0)):
        items = [text_item(0, 100 + worse, 40, 120), text_item(1, 30 + worse, 10, 40)]
        add_evaluation(folder, "bits_per_byte", items)
    scores = scores_table(tmp_path / "runs")
    row = only(scores, routing="standard", metric="bits_per_byte")
    assert row["value"] == pytest.approx(130 / math.log(2) / 160) and math.isnan(row["chance"])
    assert only(scores, routing="standard", metric="nats_per_token")["value"] == pytest.approx(130 / 50)
    assert "average" not in set(scores["task"])
    difference = only(task_differences(tmp_path / "runs"), metric="bits_per_byte")
    assert difference["difference"] == pytest.approx(6 / math.log(2) / 160)
    assert math.isnan(difference["mcnemar_p"])


def test_positions_are_categories(tmp_path):
    folder = make_run(tmp_path / "runs", "lft", 0, 5.0)
    items = [
        text_item(stretch, 8.0 + place, 16, 40, category=f"{16 * place + 1}-{16 * place + 16}")
        for stretch in range(3)
        for place in range(2)
    ]
    add_evaluation(folder, "loss_by_position", items)
    row = only(scores_table(tmp_path / "runs"), group="17-32", metric="bits_per_byte")
    assert row["value"] == pytest.approx(9 / math.log(2) / 40)


def test_runs_asked_otherwise_are_not_compared(pair, tmp_path):
    _, lft = pair
    answers = [choice_item(number, True) for number in range(4)]
    add_evaluation(lft, "piqa", answers, limit=4)
    row = only(task_differences(tmp_path / "runs"), task="piqa")
    assert row["problem"] == "asked with another limit (4, not 0)"
    add_evaluation(lft, "piqa", answers)
    assert (
        only(task_differences(tmp_path / "runs"), task="piqa")["problem"]
        == "the two were asked different items"
    )


def test_the_last_evaluated_checkpoint_counts(tmp_path):
    folder = make_run(tmp_path / "runs", "lft", 0, 5.0)
    add_evaluation(folder, "piqa", [choice_item(0, True), choice_item(1, True)], tokens=100_000)
    add_evaluation(folder, "piqa", [choice_item(0, False), choice_item(1, True)], tokens=50_000)
    assert only(scores_table(tmp_path / "runs"), task="piqa")["value"] == 1.0
    every = scores_table(tmp_path / "runs", every_checkpoint=True)
    assert list(every[every["task"] == "piqa"]["value"]) == [0.5, 1.0]
    assert len(items_table(tmp_path / "runs", every_checkpoint=True)) == 4


def test_pairs_of_many_runs_share_their_seed(tmp_path):
    for seed in (0, 1):
        for folder in make_pair(tmp_path / "runs", seed):
            add_evaluation(folder, "piqa", [choice_item(number, bool(seed)) for number in range(3)])
    differences = task_differences(tmp_path / "runs")
    assert list(differences["task"]) == ["piqa", "average"] * 2
    piqa = differences[differences["task"] == "piqa"]
    assert list(piqa["seed"]) == [0, 1]
    assert list(piqa["difference"]) == [0, 0] and list(piqa["mcnemar_p"]) == [1, 1]
    # Where no item differs, nothing is known of the spread.
    assert piqa["low"].isna().all()


def test_people_see_every_task_and_the_average_last(pair, tmp_path):
    standard, _ = pair
    add_evaluation(standard, "arc_easy", [choice_item(number, True, chance=0.25) for number in range(4)])
    out = io.StringIO()
    print_evaluations(tmp_path / "runs", file=out)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("Scores with 95 % intervals")
    last_scores = lines[lines.index("") - 2 : lines.index("")]
    assert all(line.split()[0] == "average" or "lft" in line for line in last_scores)
    assert any("+37.50" in line and "0.250" in line for line in lines)


def test_the_average_counts_every_task_once(pair, tmp_path):
    for folder, right in zip(pair, (False, True), strict=True):
        add_evaluation(folder, "arc_easy", [choice_item(number, right) for number in range(2)])
    scores = scores_table(tmp_path / "runs")
    assert only(scores, task="average", routing="lft")["value"] == (6 / 8 + 1) / 2
    assert only(scores, task="average", routing="lft")["metric"] == "own"
    average = only(task_differences(tmp_path / "runs"), task="average")
    first = only(task_differences(tmp_path / "runs"), task="piqa")
    assert average["difference"] == (3 / 8 + 1) / 2
    assert average["error"] == pytest.approx(first["error"] / 2)


def test_a_baseline_that_is_not_there_is_said(pair, tmp_path):
    with pytest.raises(RequestError, match=r"no run of the baseline 'standart' was evaluated; .*lft"):
        task_differences(tmp_path / "runs", baseline="standart")
    out = io.StringIO()
    print_evaluations(tmp_path / "runs", baseline="standart", file=out)
    assert "not compared: no run of the baseline 'standart'" in out.getvalue()


def test_checkpoints_are_compared_with_their_like(pair, tmp_path):
    for folder, right in zip(pair, (False, True), strict=True):
        add_evaluation(folder, "piqa", [choice_item(number, right) for number in range(4)], tokens=50_000)
    table = task_differences(tmp_path / "runs", every_checkpoint=True)
    piqa = table[table["task"] == "piqa"]
    assert list(zip(piqa["tokens"], piqa["difference"], strict=True)) == [(50_000, 1.0), (100_000, 3 / 8)]


def test_metrics_between_right_and_wrong_keep_their_names(tmp_path):
    folder = make_run(tmp_path / "runs", "lft", 0, 5.0)
    items = [choice_item(number, None, metrics={"acc": share}) for number, share in enumerate((0.2, 0.6))]
    add_evaluation(folder, "truthfulqa_mc2", items)
    row = only(scores_table(tmp_path / "runs"), task="truthfulqa_mc2")
    assert (row["metric"], row["value"], row["share"]) == ("acc", 0.4, False)


def test_what_lm_eval_aggregates_itself_is_shown_without_interval(tmp_path):
    folder = make_run(tmp_path / "runs", "lft", 0, 5.0)
    items = [choice_item(number, None, metrics={}) for number in range(3)]
    results = {"cola": {"mcc,none": 0.25, "mcc_stderr,none": "N/A", "alias": "cola"}}
    write_evaluation(
        folder.evaluations / "cola.parquet",
        100_000,
        items,
        {"identity": {"task": "cola"}, "results": results},
    )
    row = only(scores_table(tmp_path / "runs"), task="cola")
    assert (row["metric"], row["value"]) == ("mcc", 0.25) and math.isnan(row["low"])


def test_other_moments_of_training_are_not_compared(pair, tmp_path):
    standard, lft = pair
    for folder, tokens in ((standard, 50_000), (lft, 20_000)):
        add_evaluation(folder, "arc_easy", [choice_item(number, True) for number in range(4)], tokens=tokens)
    row = only(task_differences(tmp_path / "runs"), task="arc_easy")
    assert row["problem"] == "asked after 20,000 tokens, the baseline after 50,000"


def test_runs_without_a_partner_are_named(tmp_path):
    for seed in (0, 1):
        for folder in make_pair(tmp_path / "runs", seed):
            add_evaluation(folder, "piqa", [choice_item(number, True) for number in range(3)])
    alone = make_run(tmp_path / "runs", "lft", 2, 5.0)
    add_evaluation(alone, "piqa", [choice_item(number, True) for number in range(3)])
    (row,) = task_differences(tmp_path / "runs").query("problem != ''").to_dict("records")
    assert (row["run_id"], row["problem"]) == (alone.name, "no standard run of this scale, budget and seed")


def test_shares_stay_between_none_and_all(tmp_path):
    folder = make_run(tmp_path / "runs", "lft", 0, 5.0)
    items = [choice_item(number, number > 0, cluster=f"passage {number // 2}") for number in range(4)]
    add_evaluation(folder, "piqa", items)
    row = only(scores_table(tmp_path / "runs"), task="piqa")
    assert 0 <= row["low"] < row["value"] < row["high"] <= 1


def test_nothing_evaluated_is_said(tmp_path):
    make_run(tmp_path / "runs", "lft", 0, 5.0)
    out = io.StringIO()
    print_evaluations(tmp_path / "runs", file=out)
    assert out.getvalue() == "nothing was evaluated yet\n"
    with pytest.raises(RequestError, match="was evaluated; ask them with"):
        items_table(tmp_path / "runs")


def test_a_damaged_file_is_named(pair, tmp_path):
    path = pair[0].evaluations / "piqa.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(RequestError, match=r"piqa.parquet is damaged .* move it away or restore it"):
        scores_table(tmp_path / "runs")
