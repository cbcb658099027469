"""From run folders to records: what is asked, kept, skipped and refused."""

import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from composing import ROOT
from evaluation.items import ITEMS, write_items

from lft.errors import RequestError, RunFailed
from lft.evaluation.harness import HarnessTask
from lft.evaluation.job import evaluate_runs
from lft.runs import file_sha256, read_evaluations


def asked_of(run):
    """The tasks that a run was asked, beside what it validates on in training."""
    return sorted({path.stem for path in run.evaluations.glob("*.parquet")} - {"validation"})


def evaluate(run, settings, tasks=("piqa", "arc_easy"), checkpoints="last", force=False):
    evaluate_runs(str(run.path), tasks, checkpoints, settings, force)
    return {task: read_evaluations(run.items(task)) for task in tasks}


def test_items_are_written_with_what_decided_them(run, settings):
    written = evaluate(run, settings)["piqa"]
    assert written.items.num_rows == 3
    assert set(written.items["checkpoint_tokens"].to_pylist()) == {5120}
    record = written.provenance[5120]
    checkpoint = run.checkpoints / "tokens-00000000005120.ckpt"
    assert record["identity"] == {
        "task": "piqa",
        "checkpoint_sha256": file_sha256(checkpoint),
        "tokenizer_sha256": run.read("run.json")["data"]["tokenizer_sha256"],
        "precision": "fp32",
        "lm_eval": "0.4.13",
        "limit": 0,
        "too_long": "truncate",
        "data": {
            "file": "piqa_validation.jsonl",
            "sha256": file_sha256(run.items("piqa").parents[3] / "items" / "piqa_validation.jsonl"),
        },
    }
    assert record["run"] == run.name and record["checkpoint"] == checkpoint.name
    assert record["settings"]["batch_tokens"] == 16_384 and record["device"] == "cpu"
    assert set(record["packages"]) == {"torch", "lm_eval", "tokenizers", "datasets"}


def test_what_is_there_is_not_asked_again(run, settings):
    evaluate(run, settings)
    before = {path: path.stat().st_mtime_ns for path in run.evaluations.iterdir()}
    evaluate(run, settings)
    # How many are scored together changes nothing that matters.
    evaluate(run, replace(settings, batch_tokens=100))
    assert {path: path.stat().st_mtime_ns for path in run.evaluations.iterdir()} == before


def test_another_way_of_asking_replaces_only_when_told_to(run, settings):
    evaluate(run, settings)
    limited = replace(settings, limit=1)
    with pytest.raises(
        RequestError, match=r"piqa.parquet was made after 5,120 tokens with limit 0 .now 1.; ask as"
    ):
        evaluate(run, limited)
    assert evaluate(run, limited, force=True)["piqa"].items.num_rows == 1


def test_every_checkpoint_when_asked_for(run, settings):
    evaluate(run, settings, ["piqa"])
    first = read_evaluations(run.items("piqa")).items
    written = evaluate(run, settings, ["piqa"], "all")["piqa"]
    assert sorted(written.provenance) == [2560, 5120]
    assert written.items["checkpoint_tokens"].to_pylist() == [2560] * 3 + [5120] * 3
    assert written.items.slice(3).to_pylist() == first.to_pylist()
    assert evaluate(run, settings, ["arc_easy"], "2560")["arc_easy"].provenance.keys() == {2560}


def test_several_runs_at_once(runs, settings):
    evaluate_runs(str(runs), ["piqa"], "last", settings)
    assert len(list(runs.glob("*/evals/piqa.parquet"))) == 2


def test_among_several_runs_those_without_a_checkpoint_are_named(runs, settings, capsys):
    (standard,) = runs.glob("standard-*")
    shutil.rmtree(standard / "checkpoints")
    evaluate_runs(str(runs), ["piqa"], "last", settings)
    assert f"left out: {standard} has no checkpoint of a milestone yet" in capsys.readouterr().err
    assert len(list(runs.glob("*/evals/piqa.parquet"))) == 1


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (
            lambda run: shutil.rmtree(run.checkpoints),
            "has no checkpoint of a milestone yet; train it further",
        ),
        (
            lambda run: (run.checkpoints / "tokens-00000000005120.ckpt").write_bytes(b"other"),
            "tokens-00000000005120.ckpt is not the file that was saved: its sha256",
        ),
    ],
)
def test_nothing_is_written_for_a_run_that_cannot_be_evaluated(run, settings, damage, complaint):
    damage(run)
    with pytest.raises(RequestError, match=complaint):
        evaluate(run, settings)
    assert asked_of(run) == []


def test_an_item_that_breaks_off_leaves_the_tasks_before_it(run, settings, tmp_path):
    bad = {**ITEMS["piqa_validation.jsonl"][0], "sol1": "word " * 200}
    settings = replace(settings, folder=str(write_items(tmp_path / "bad", piqa=[bad])))
    with pytest.raises(RequestError, match="piqa item 0 asks for"):
        evaluate(run, settings, ["piqa", "arc_easy"])
    assert asked_of(run) == []
    with pytest.raises(RunFailed, match=r"piqa item 0 asks for .* \(what was evaluated before is kept\)"):
        evaluate(run, settings, ["arc_easy", "piqa"])
    assert asked_of(run) == ["arc_easy"]


def test_a_task_named_twice_is_asked_once_and_no_item_counts_twice(run, settings, monkeypatch):
    assert set(evaluate(run, settings, ["piqa", "piqa"])) == {"piqa"}
    monkeypatch.setattr(HarnessTask, "load", lambda task: {"piqa"})
    with pytest.raises(RequestError, match="piqa is part of both arc_easy and hellaswag; ask one of them"):
        evaluate(run, settings, ["arc_easy", "hellaswag"])


@pytest.mark.slow
def test_the_command_evaluates_and_prints_tables(runs, settings):
    def run_command(*arguments):
        program = [sys.executable, str(ROOT / "src/eval.py"), f"run={runs}", *arguments]
        return subprocess.run(program, capture_output=True, text=True)

    asked = ["eval.source=files", f"eval.folder={settings.folder}"]
    done = run_command("tasks=piqa,blimp", *asked)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("piqa") and "acc_norm" in line for line in lines)
    assert sum("blimp_npi_present_1" in line for line in lines) == 3
    assert any(line.startswith("average") for line in lines)
    assert "Differences from standard" in done.stdout
    for wrong, complaint in (
        (["tasks=piqaa", *asked], "there are no files for task 'piqaa'; did you mean piqa? else choose"),
        (["tasks=,"], "tasks= names no task; give some, such as piqa,"),
        (["eval.source=web"], "eval.source=web is not one of hub, files\n"),
        (["eval.limit=many"], "eval.limit=many must be a whole number\n"),
    ):
        refused = run_command(*wrong)
        assert refused.returncode == 2 and refused.stderr.startswith(complaint)
