"""Runs fetched from Weights & Biases: their folders give the tables of the folders that training wrote.

What the server holds is what `wandb sync` and `wandb.init` sent it of real runs.
"""

import copy
import json
import math
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from composing import ROOT
from tracking.wandb_server import service_of_its_own, wandb_server  # noqa: F401
from training.conftest import corpus, prepared, tiny_config, tiny_overrides  # noqa: F401

from lft.analysis import curves_table, items_table, runs_table, visits_table
from lft.errors import RequestError, RunFailed
from lft.runs import RunFolder, RunState, find_runs
from lft.tracking import download as module
from lft.tracking.download import download
from lft.tracking.remote_run import ORIGIN, metric_rows
from lft.training import StepCallback, train

MEASURED = ("diagnostics=default", "diagnostics.every_tokens=320", "diagnostics.knockout_sequences=2")


class Crash(StepCallback):
    def after_step(self, trainer, module):
        if trainer.global_step == 7:
            raise ValueError("the disk is full")


def environment(address, **others):
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("WANDB_")}
    return {**inherited, "WANDB_BASE_URL": address, "WANDB_API_KEY": "0" * 40, **others}


def command(script, *arguments, env, cwd):
    return subprocess.run(
        [sys.executable, str(ROOT / "src" / script), *arguments],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def trained(corpus, prepared, tmp_path_factory):  # noqa: F811
    """A folder with a run that measured its visits, and one that failed; both logged offline."""
    runs = tmp_path_factory.mktemp("trained") / "runs"
    train(tiny_config(corpus, prepared, runs, "routing=lft", "logger=wandb", *MEASURED))
    with pytest.raises(RunFailed):
        train(tiny_config(corpus, prepared, runs, "routing=standard", "logger=wandb"), [Crash()])
    return runs


@pytest.fixture(scope="module")
def synchronized(trained):
    """A server that `wandb sync` sent both runs to."""
    with wandb_server() as server:
        subprocess.run(
            [Path(sys.executable).with_name("wandb"), "sync", *map(str, trained.glob("offline-run-*"))],
            env=environment(server.address),
            capture_output=True,
            check=True,
            timeout=120,
        )
        assert len(server.runs) == 2
        yield server


@pytest.fixture
def server(synchronized, monkeypatch):
    """The same, to be changed at will."""
    before = copy.deepcopy(synchronized.runs)
    monkeypatch.setenv("WANDB_BASE_URL", synchronized.address)
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    synchronized.filters.clear()
    synchronized.exported_rows = 0
    yield synchronized
    synchronized.runs.clear()
    synchronized.runs.update(before)


def fetch(out, project="lft", filters=None):
    return {outcome.run: outcome for outcome in download(project, "", filters or {}, out)}


def one(server, routing):
    (run,) = (run for run in server.runs.values() if run.display_name.startswith(routing))
    return run


def folder_of(runs, routing):
    (folder,) = (folder for folder in find_runs(runs) if folder.name.startswith(routing))
    return folder


def assert_same_tables(runs, others):
    for table in (runs_table, curves_table, partial(visits_table, unfinished=True)):
        pd.testing.assert_frame_equal(table(runs), table(others))


# The runs are trained once.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("download")]


def test_the_tables_of_a_downloaded_folder_are_those_of_the_local_one(server, trained, tmp_path):
    fetch(tmp_path / "runs")
    assert_same_tables(trained, tmp_path / "runs")
    pd.testing.assert_frame_equal(items_table(trained), items_table(tmp_path / "runs"))
    for local in find_runs(trained):
        copied = RunFolder(tmp_path / "runs" / local.name)
        assert copied.state is local.state
        assert [path.name for path in copied.record_files()] == [path.name for path in local.record_files()]
        for path in local.record_files():
            assert (copied.path / path.relative_to(local.path)).read_bytes() == path.read_bytes()
    # Nothing else is left, hidden files among it.
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {run.name for run in find_runs(trained)}


def test_a_failed_run_keeps_its_cause(server, tmp_path):
    outcome = fetch(tmp_path)[one(server, "standard").display_name]
    assert (outcome.remark, outcome.is_there) == ("failed: 7 logged steps", True)
    folder = folder_of(tmp_path, "standard")
    assert folder.state is RunState.FAILED
    assert folder.failure == "ValueError: the disk is full"


@pytest.mark.parametrize("exported_rows", [0, 9, 1000])
@pytest.mark.parametrize("state", ["running", "crashed"])
def test_an_unfinished_run_is_made_from_its_whole_history(server, trained, tmp_path, state, exported_rows):
    server.exported_rows = exported_rows
    run = one(server, "lft")
    run.state = state
    # What an end would send is not there yet, or is from an earlier end.
    run.files["metrics.jsonl"] = b'{"step": 1, "tokens": 64, "train/loss": 1000.0}\n'
    run.files["FAILED"] = b"ValueError: of an earlier session"
    local = shutil.copytree(trained, tmp_path / "local", symlinks=True)
    for name in ("DONE", "summary.json"):
        (folder_of(local, "lft").path / name).unlink()
    fetch(tmp_path / "runs")
    assert folder_of(tmp_path / "runs", "lft").state is RunState.STARTED
    assert_same_tables(local, tmp_path / "runs")
    logged = folder_of(tmp_path / "runs", "lft").path / "metrics.jsonl"
    own = folder_of(local, "lft").path / "metrics.jsonl"
    assert list(map(json.loads, logged.open())) == list(map(json.loads, own.open()))


def test_a_stopped_run_is_unfinished_though_weights_and_biases_calls_it_failed(server, tmp_path):
    run = one(server, "lft")
    run.state, run.summary["run_state"] = "failed", "started"
    run.files["FAILED"] = b"ValueError: of an earlier session"
    fetch(tmp_path)
    folder = folder_of(tmp_path, "lft")
    assert folder.state is RunState.STARTED
    assert not (folder.path / "FAILED").exists() and not (folder.path / "summary.json").exists()


def test_folders_that_were_not_downloaded_are_left_alone_and_named(server, trained, tmp_path):
    runs = shutil.copytree(trained, tmp_path / "runs", symlinks=True)
    # One that says nothing of W&B, found by its name alone.
    other = folder_of(runs, "standard").path
    shutil.rmtree(other)
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    before = {path: path.lstat().st_mtime_ns for path in runs.rglob("*")}
    outcomes = fetch(runs)
    assert {path: path.lstat().st_mtime_ns for path in runs.rglob("*")} == before
    assert all(outcome.is_there and "was not downloaded" in outcome.remark for outcome in outcomes.values())
    assert str(other) in outcomes[other.name].remark


def test_only_unfinished_copies_are_fetched_again(server, tmp_path):
    lft, standard = one(server, "lft"), one(server, "standard")
    fetch(tmp_path)
    done = {path: path.stat().st_mtime_ns for path in folder_of(tmp_path, "lft").path.rglob("*")}
    # The failed one was taken up again and reached its end.
    standard.state, standard.summary["run_state"] = "finished", "done"
    standard.files["summary.json"] = lft.files["summary.json"]
    outcomes = fetch(tmp_path)
    assert outcomes[lft.display_name].remark == "there already"
    assert {path: path.stat().st_mtime_ns for path in done} == done
    folder = folder_of(tmp_path, "standard")
    assert folder.state is RunState.DONE and not (folder.path / "FAILED").exists()


def test_training_that_goes_on_in_a_downloaded_folder_makes_it_ones_own(server, tmp_path):
    one(server, "lft").state = "running"
    fetch(tmp_path)
    folder_of(tmp_path, "lft").checkpoints.mkdir()
    one(server, "lft").state = "finished"
    assert "was not downloaded" in fetch(tmp_path)[one(server, "lft").display_name].remark
    assert folder_of(tmp_path, "lft").state is RunState.STARTED


def test_of_a_run_that_was_started_over_the_newest_is_taken(server, tmp_path):
    older = one(server, "lft")
    newer = copy.deepcopy(older)
    newer.name = f"{older.display_name}-ffff"
    newer.state = "running"
    server.runs[newer.name] = newer
    outcomes = list(download("lft", "", {}, tmp_path / "runs"))
    remarks = [o.remark.split(":")[0] for o in outcomes if o.run == older.display_name]
    assert remarks == ["unfinished", "left out"]
    assert json.loads((folder_of(tmp_path / "runs", "lft").path / ORIGIN).read_text()) == {
        "project": "me/lft",
        "wandb_id": newer.name,
    }


def test_a_run_without_its_record_is_named_and_left_out(server, tmp_path):
    for name in ("run.json", "summary.json"):
        del one(server, "lft").files[name]
    outcome = fetch(tmp_path)[one(server, "lft").display_name]
    assert not outcome.is_there
    assert "does not hold its run.json and summary.json" in outcome.remark
    assert [folder.name.split("-")[0] for folder in find_runs(tmp_path)] == ["standard"]


@pytest.mark.parametrize("name", ["../elsewhere", "", ".", "/tmp/elsewhere"])
def test_a_record_cannot_name_a_folder_elsewhere(server, tmp_path, name):
    run = one(server, "lft")
    run.files["run.json"] = json.dumps({**json.loads(run.files["run.json"]), "run_id": name}).encode()
    outcome = fetch(tmp_path / "runs")[run.display_name]
    assert not outcome.is_there and "its record at W&B is damaged (its run.json names" in outcome.remark
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}
    assert [folder.name.split("-")[0] for folder in find_runs(tmp_path / "runs")] == ["standard"]


def test_files_of_ones_own_in_an_unfinished_copy_are_kept(server, tmp_path):
    one(server, "lft").state = "running"
    fetch(tmp_path)
    (copy,) = tmp_path.glob("lft-*")
    (copy / "notes.txt").write_text("look at step 10")
    outcome = fetch(tmp_path)[copy.name]
    assert "left alone: it holds files of your own (notes.txt)" in outcome.remark
    assert (copy / "notes.txt").read_text() == "look at step 10"


def test_a_place_that_takes_no_folders_is_refused(server, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RequestError, match=r"out=.*file cannot hold run folders"):
        fetch(tmp_path / "file")


def test_the_filter_is_passed_on(server, tmp_path):
    filters = {"config.routing.name": "lft", "state": {"$ne": "running"}}
    fetch(tmp_path, filters=filters)
    assert server.filters == [filters]


def test_a_transfer_that_breaks_off_leaves_whole_runs_only(server, tmp_path):
    # The newest comes first.
    first, second = reversed(server.runs.values())
    server.broken = (second.name, "config.json")
    try:
        with pytest.raises(RunFailed, match="goes on from there") as failure:
            fetch(tmp_path / "runs")
    finally:
        server.broken = None
    assert second.display_name in str(failure.value) and "\n" not in str(failure.value)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [first.display_name]
    fetch(tmp_path / "runs")
    assert len(find_runs(tmp_path / "runs")) == 2


def test_no_such_project_or_run_is_one_line_and_leaves_nothing(server, tmp_path, monkeypatch):
    with pytest.raises(RequestError, match="there is no project nothing"):
        fetch(tmp_path / "runs", project="nothing")
    server.runs.clear()
    with pytest.raises(RequestError, match="no run that matches"):
        fetch(tmp_path / "runs", filters={"config.arm": "ltf"})
    monkeypatch.setattr(module, "has_account", lambda: False)
    with pytest.raises(RequestError, match="no account"):
        fetch(tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_the_command_prints_a_line_a_run_and_its_exit_code_tells(server, tmp_path):
    env = environment(server.address)
    result = command("download.py", "project=lft", "filter=routing.name=lft", env=env, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) == 2
    assert server.filters == [{"config.routing.name": "lft"}]
    assert len(find_runs(tmp_path / "runs")) == 2
    result = command("download.py", "project=nothing", env=env, cwd=tmp_path)
    assert (result.returncode, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)
    del one(server, "lft").files["run.json"]
    result = command("download.py", "out=others", env=env, cwd=tmp_path)
    assert (result.returncode, len(result.stdout.splitlines())) == (1, 2)
    assert result.stderr == "1 of 2 runs are not in others; see above why\n"


def test_a_run_logged_online_comes_back(corpus, prepared, tmp_path):  # noqa: F811
    request = tiny_overrides(corpus, prepared, tmp_path / "runs")
    with wandb_server() as server:
        env = environment(server.address)
        result = command("train.py", *request, "logger=wandb", *MEASURED, env=env, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert not list((tmp_path / "runs").glob("offline-run-*"))
        result = command("download.py", "out=copies", env=env, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert_same_tables(tmp_path / "runs", tmp_path / "copies")


def test_rows_are_told_from_those_of_visits_and_their_numbers_kept():
    history = [
        {"_step": 0, "step": 0, "train/tokens": 0, "train/flops": 0, "visit/b01_v1/gradient_norm": 1.0},
        {"_step": 1, "step": 1.0, "train/tokens": 64.0, "train/loss": 5.5, "_runtime": 3.0, "val/loss": None},
        {"_step": 1, "step": 1.0, "train/tokens": 64.0, "train/loss": 5.5, "_runtime": 3.0, "val/loss": None},
        {"_step": 2, "step": 2, "train/tokens": 128, "optim/grad_norm": "NaN", "perf/mfu": "Infinity"},
        {"_step": 3, "other": 1},
    ]
    first, second = metric_rows(iter(history))
    assert first == {"step": 1, "tokens": 64, "train/tokens": 64, "train/loss": 5.5}
    assert math.isnan(second["optim/grad_norm"]) and second["perf/mfu"] == math.inf
