"""The run folder: its name, its markers and its record."""

import json
from copy import deepcopy
from multiprocessing import get_context

import pytest

from lft.errors import RequestError
from lft.runs import RunFolder, RunState, config_hash, find_runs, run_id, token_label

CONFIG = {
    "routing": {"name": "lft", "revisits": 1},
    "scale": {"name": "2_5m", "d_model": 192},
    "budget": {"tokens": 500_000_000},
    "data": {"name": "sample", "loader_workers": 0, "shard_tokens": 10},
    "match": {"by": "tokens", "max_epochs": 1.0},
    "seed": 0,
    "peak_flops": None,
    "trainer": {"devices": 1},
    "logger": {},
    "callbacks": {},
    "paths": {"runs": "runs"},
    "force": False,
    "retry": False,
}


def changed(key, value):
    config = deepcopy(CONFIG)
    *parents, last = key.split(".")
    section = config
    for parent in parents:
        section = section[parent]
    section[last] = value
    return config


def test_a_run_is_named_by_what_it_computes():
    assert run_id(CONFIG) == f"lft-2_5m-500m-s0-{config_hash(CONFIG)}"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("routing.revisits", 2),
        ("scale.d_model", 200),
        ("budget.tokens", 10),
        ("data.name", "files"),
        ("match.by", "flops"),
        ("seed", 1),
    ],
)
def test_the_hash_covers_what_changes_a_result(key, value):
    assert config_hash(changed(key, value)) != config_hash(CONFIG)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("trainer.devices", 8),
        ("logger", {"wandb": {}}),
        ("callbacks", {"progress": {}}),
        ("paths.runs", "elsewhere"),
        ("force", True),
        ("retry", True),
        ("data.loader_workers", 4),
        ("data.shard_tokens", 99),
        ("peak_flops", 1e12),
        ("match.max_epochs", 4.0),
    ],
)
def test_the_hash_covers_nothing_else(key, value):
    assert config_hash(changed(key, value)) == config_hash(CONFIG)


@pytest.mark.parametrize(
    ("tokens", "label"),
    [
        (1_000, "1k"),
        (600_000, "600k"),
        (500_000_000, "500m"),
        (10**9, "1b"),
        (1_500_000_000, "1500m"),
        (12_345, "12345"),
    ],
)
def test_budgets_are_written_as_people_say_them(tokens, label):
    assert token_label(tokens) == label


def test_markers_tell_how_far_a_run_has_come(tmp_path):
    folder = RunFolder(tmp_path / "run")
    assert folder.state is RunState.NEW
    folder.create({"seed": 0}, {"schedule": [1, 2]})
    assert folder.state is RunState.STARTED
    folder.mark_failed("Traceback\nValueError: too bad")
    assert folder.state is RunState.FAILED
    assert folder.failure == "ValueError: too bad"
    folder.create({"seed": 0}, {"schedule": [1, 2]})
    assert folder.state is RunState.STARTED
    folder.mark_done({"val_loss": 1.0})
    assert folder.state is RunState.DONE
    assert folder.read("summary.json") == {"val_loss": 1.0}


def test_a_cleared_run_leaves_no_link_behind(tmp_path):
    kept, cleared = (RunFolder(tmp_path / name) for name in ("kept", "cleared"))
    for folder in (kept, cleared):
        folder.create({}, {})
        (tmp_path / f"offline-run-{folder.name}").symlink_to(folder.checkpoints)
    cleared.clear()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "offline-run-kept"]


def test_metrics_of_a_resumed_run_are_merged_by_the_last_write(tmp_path):
    folder = RunFolder(tmp_path)
    rows = [
        {"step": 1, "tokens": 8, "train/loss": 5.0},
        {"step": 2, "tokens": 16, "train/loss": 4.0},
        {"step": 2, "tokens": 16, "val/loss": 4.5},
        {"step": 2, "tokens": 16, "train/loss": 3.0},
    ]
    text = "\n".join(json.dumps(row) for row in rows) + '\n{"step": 3, "tok'
    (tmp_path / "metrics.jsonl").write_text(text)
    assert folder.read_metrics() == [
        {"step": 1, "tokens": 8, "train/loss": 5.0},
        {"step": 2, "tokens": 16, "train/loss": 3.0, "val/loss": 4.5},
    ]


def test_runs_are_found_by_folder_by_glob_and_by_themselves(tmp_path):
    for name in ("b", "a"):
        RunFolder(tmp_path / name).create({}, {})
    (tmp_path / "offline-run-1").symlink_to(tmp_path / "a")
    (tmp_path / "other").mkdir()
    for location, names in (("", ["a", "b"]), ("b", ["b"]), ("[ab]", ["a", "b"]), ("a*", ["a"])):
        assert [run.name for run in find_runs(tmp_path / location)] == names
    with pytest.raises(RequestError, match="no runs in"):
        find_runs(tmp_path / "other")


def test_runs_one_folder_further_down_are_pointed_at(tmp_path):
    RunFolder(tmp_path / "runs" / "demo" / "run").create({}, {})
    with pytest.raises(RequestError, match=r"no runs in .*; there are some in runs=.*/runs/demo$"):
        find_runs(tmp_path / "runs")


def hold(path, held, release):
    with RunFolder(path).lock():
        held.set()
        release.wait(30)


@pytest.mark.slow
def test_one_process_trains_a_run_at_a_time(tmp_path):
    context = get_context("spawn")
    held, release = context.Event(), context.Event()
    holder = context.Process(target=hold, args=(tmp_path / "run", held, release))
    holder.start()
    assert held.wait(30)
    with (
        pytest.raises(RequestError, match="being trained by another process"),
        RunFolder(tmp_path / "run").lock(),
    ):
        pass
    release.set()
    holder.join(30)
    with RunFolder(tmp_path / "run").lock():
        pass
    assert not list(tmp_path.iterdir())
