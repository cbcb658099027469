"""The command line as a person uses it: the sweep of the study, its endings and its errors."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from composing import ROOT
from pyarrow import parquet as pq

from lft.tracking.panels import panel_sections

SWEEP = ("-m", "routing=lft,standard", "scale=2_5m,10m,25m", "seed=0,1,2")

pytestmark = pytest.mark.slow
# Tests that share the eighteen runs, so that no second worker trains them again.
one_worker = pytest.mark.xdist_group("sweep")


def command(script, *arguments, cwd, timeout=1800):
    return subprocess.run(
        [sys.executable, str(ROOT / "src" / script), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def run_folders(folder):
    return sorted(path for path in (folder / "runs").iterdir() if path.is_dir() and not path.is_symlink())


def read_wandb(run):
    """What W&B's own reader finds in a run's offline log."""
    wandb = Path(sys.executable).with_name("wandb")
    arguments = [str(wandb), "leet", "inspect", "--summary", "--json", str(run / "wandb")]
    return json.loads(subprocess.run(arguments, capture_output=True, text=True).stdout)


def read_wandb_log(run):
    """Every record of a run's offline log, as W&B's own reader prints them."""
    wandb = Path(sys.executable).with_name("wandb")
    result = subprocess.run(
        [wandb, "leet", "inspect", "--json", run / "wandb"], capture_output=True, text=True
    )
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """The user's command to the letter, as a smoke experiment."""
    folder = tmp_path_factory.mktemp("sweep")
    return folder, command("train.py", *SWEEP, "experiment=smoke", cwd=folder)


@one_worker
def test_the_sweep_trains_eighteen_runs(sweep):
    folder, result = sweep
    assert result.returncode == 0, result.stderr
    assert "18 jobs: 18 done" in result.stderr
    runs = run_folders(folder)
    assert len(runs) == 18
    assert all((run / "DONE").exists() for run in runs)
    summaries = [json.loads((run / "summary.json").read_text()) for run in runs]
    arms = {(summary["routing"], summary["scale"], summary["seed"]) for summary in summaries}
    assert len(arms) == 18
    assert sorted(path.name for path in folder.iterdir()) == ["prepared", "runs"]


@one_worker
def test_each_run_is_a_wandb_run_of_its_own(sweep):
    folder, _ = sweep
    identities = set()
    for run in run_folders(folder):
        seen = read_wandb(run)
        assert seen["name"] == run.name
        assert (seen["state"], seen["exit_code"]) == ("finished", 0)
        assert seen["summary"]["val_loss"] == json.loads((run / "summary.json").read_text())["val_loss"]
        identities.add(seen["run_id"])
    assert len(identities) == 18
    # `wandb leet runs` lists what lies directly in the folder.
    assert len(list((folder / "runs").glob("offline-run-*"))) == 18


@one_worker
@pytest.mark.parametrize("arm", ["lft-2_5m-400-s0-*", "lft-25m-400-s1-*", "standard-10m-400-s2-*"])
def test_the_wandb_log_holds_the_visits_their_axis_and_the_pictures(sweep, arm):
    (run,) = (sweep[0] / "runs").glob(arm)
    records = read_wandb_log(run)
    axes = {
        record["metric"]["glob_name"]: record["metric"]["step_metric"]
        for record in records
        if record["type"] == "metric" and "glob_name" in record["metric"]
    }
    assert axes["visit/*"] == axes["train/*"] == axes["val/*"] == "train/tokens"
    rows = [record["history"]["item"] for record in records if record["type"] == "history"]
    visits = {key for row in rows for key in row if key.startswith("visit/b")}
    assert 50 < len(visits) < 400
    assert all("train/tokens" in row for row in rows)
    measured = pq.read_table(run / "visits.parquet").to_pandas()
    last = measured[(measured["tokens"] == 384) & (measured["part"] == "block")]
    share = last[(last["statistic"] == "gradient_share") & (last["block"] == 2) & (last["visit"] == 1)]
    logged = [
        row["visit/b02_v1/gradient_share"] for row in rows if row["train/tokens"] == 384 and len(row) > 50
    ]
    assert logged == pytest.approx(list(share["value"]))
    # The reader prints the entry of an image as one key for each of its fields.
    pattern = re.compile(r"visit/pictures/(\w+)\.path")
    pictures = {match[1]: row[key] for row in rows for key in row if (match := pattern.fullmatch(key))}
    assert set(pictures) == {path.stem for path in (run / "pictures").iterdir()}
    assert ("gradient_cosines" in pictures) == arm.startswith("lft")
    for name, place in pictures.items():
        (copy,) = (run / "wandb").glob(f"offline-run-*/files/{place}")
        assert copy.read_bytes() == (run / "pictures" / f"{name}.png").read_bytes()


@one_worker
def test_every_chart_of_the_dashboard_shows_what_runs_log(sweep):
    (run,) = (sweep[0] / "runs").glob("lft-10m-400-s0-*")
    rows = [record["history"]["item"] for record in read_wandb_log(run) if record["type"] == "history"]
    logged = {key for row in rows for key in row}
    seen = read_wandb(run)
    assert (seen["config"]["arm"], seen["config"]["scale_name"]) == ("lft", "10m")
    for panel in [panel for panels in panel_sections().values() for panel in panels]:
        config = panel._to_model().config
        if regex := getattr(config, "metric_regex", None):
            assert any(re.search(regex, key) for key in logged), regex
        elif keys := getattr(config, "media_keys", None):
            assert {f"{key}.path" for key in keys} <= logged
        else:
            assert set(config.metrics) <= logged | set(seen["summary"]), panel.title


@one_worker
def test_the_same_sweep_again_does_nothing_but_say_so(sweep):
    folder, _ = sweep
    before = {path: path.stat().st_mtime_ns for path in (folder / "runs").rglob("*")}
    result = command("train.py", *SWEEP, "experiment=smoke", cwd=folder)
    assert result.returncode == 0
    assert result.stderr.count("is done; force=true trains it again") == 18
    assert {path: path.stat().st_mtime_ns for path in (folder / "runs").rglob("*")} == before


@one_worker
def test_a_run_alone_and_in_a_sweep_share_their_folder(sweep):
    folder, _ = sweep
    result = command("train.py", "routing=lft", "scale=10m", "seed=2", "experiment=smoke", cwd=folder)
    assert result.returncode == 0
    assert "is done" in result.stderr


def test_a_failing_job_does_not_stop_the_others(tmp_path):
    result = command(
        "train.py",
        "-m",
        "routing=lft,standard",
        "scale=nano",
        "experiment=smoke",
        "optimizer.learning_rate=1e30,1e-3",
        "logger=none",
        cwd=tmp_path,
    )
    assert result.returncode == 1, result.stderr
    states = sorted((run / "DONE").exists() for run in run_folders(tmp_path))
    assert states == [False, False, True, True]
    assert "4 jobs: 2 done, 2 not done" in result.stderr
    assert result.stderr.count("training diverged") >= 2


def test_a_crash_shows_as_failed_in_wandb(tmp_path):
    result = command(
        "train.py", "scale=nano", "experiment=smoke", "optimizer.learning_rate=1e30", cwd=tmp_path
    )
    assert result.returncode == 1
    (run,) = run_folders(tmp_path)
    assert "training diverged" in (run / "FAILED").read_text()
    seen = read_wandb(run)
    assert (seen["state"], seen["exit_code"]) == ("failed", 1)


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (
            ["routing.revisit=1"],
            "no key routing.revisit; did you mean revisits? its neighbours are name, share, revisits, span",
        ),
        (["+foo=1"], "foo is not a key of this program"),
        (["routing=ltf"], "Could not find 'routing/ltf' Available options in 'routing': cycle deep"),
        (["seed=often"], "seed"),
        (["diagnostics=null"], "null is no option of a group; choose one of its options, such as none"),
        (["routing.revisits=-1"], "routing.revisits=-1 must be 0 or more"),
        (["data=files", "data.paths=[nowhere.txt]"], "nowhere.txt"),
        (["-m", "routing=lft,ltf"], "routing/ltf"),
        (["-m", "routing=lft,standard", "data=files", "data.paths=[nowhere.txt]"], "nowhere.txt"),
    ],
)
def test_a_wrong_request_is_one_line_and_leaves_nothing(tmp_path, overrides, complaint):
    result = command("train.py", *overrides, cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr
    if "-m" not in overrides:
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    assert not list(tmp_path.rglob("*"))


def test_without_the_hub_the_study_says_what_to_do_instead(tmp_path):
    result = command("train.py", "data.repository=nobody/has-this-dataset", cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "data=sample" in result.stderr
    assert not list(tmp_path.rglob("*"))


def test_prepare_then_train_finds_what_was_prepared(tmp_path):
    text = tmp_path / "text.jsonl"
    text.write_text("\n".join(json.dumps({"text": f"document {number} " * 40}) for number in range(80)))
    data = ["data=files", f"data.paths=[{text}]", "data.vocab_size=280", "data.validation_fraction=0.2"]
    prepared = command("prepare.py", *data, cwd=tmp_path)
    assert prepared.returncode == 0, prepared.stderr
    folders = list((tmp_path / "prepared").iterdir())
    written = {path: path.stat().st_mtime_ns for path in folders[0].iterdir()}
    small = ["scale.context_length=16", "optimizer.batch_tokens=64", "budget.tokens=128", "compile=false"]
    trained = command("train.py", "scale=nano", *data, *small, "logger=none", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    assert list((tmp_path / "prepared").iterdir()) == folders
    assert {path: path.stat().st_mtime_ns for path in folders[0].iterdir()} == written


def test_a_compiled_run_computes_what_an_eager_one_does(tmp_path):
    for compiles in ("true", "false"):
        arguments = ["scale=nano", "experiment=smoke", f"compile={compiles}", "logger=none"]
        assert command("train.py", *arguments, cwd=tmp_path).returncode == 0
    losses = [json.loads((run / "summary.json").read_text())["val_loss"] for run in run_folders(tmp_path)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_two_devices_train_what_waits_for_its_start(tmp_path):
    conditions = ["sharing.feedback_after=0.5", "sharing.visit_conditioning=scale", "trainer.devices=2"]
    result = command("train.py", "scale=nano", "experiment=smoke", *conditions, "logger=none", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    (run,) = run_folders(tmp_path)
    assert json.loads((run / "run.json").read_text())["execution"]["devices"] == 2
