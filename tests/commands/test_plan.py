"""plan.py and the recorded sweeps, as a person starts them."""

import csv
import io
import json
import os
import re
import subprocess
import sys

import pytest
from composing import ROOT
from wandb.sdk.launch.sweeps.utils import create_sweep_command, create_sweep_command_args, load_sweep_config

pytestmark = pytest.mark.slow

SWEEPS = sorted(file.stem for file in (ROOT / "sweeps").glob("*.yaml"))
CONTRACT = {
    "schedule",
    "num_blocks",
    "num_steps",
    "visit_map",
    "parameters",
    "forward_flops_per_token",
    "training_flops_per_token",
    "kv_bytes_per_token",
}


def command(script, *arguments, cwd, columns=None):
    environment = {"COLUMNS": str(columns)} if columns else {}
    return subprocess.run(
        [sys.executable, str(ROOT / "src" / script), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, **environment},
    )


def plans(*arguments, cwd):
    result = command("plan.py", *arguments, "format=json", cwd=cwd)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_a_list_of_routings_gives_a_plan_for_each(tmp_path):
    lft, standard = plans("routing=lft,standard", cwd=tmp_path)
    assert set(lft) >= CONTRACT
    assert lft["schedule"] == [1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5]
    assert (lft["num_blocks"], lft["num_steps"], lft["visit_map"]) == (5, 11, [2, 3, 3, 2, 1])
    assert (lft["parameters"], lft["forward_flops_per_token"]) == (2_527_296, 16_183_296)
    assert lft["training_flops_per_token"] == 3 * 16_183_296
    assert lft["kv_bytes_per_token"] == 11 * 2 * 192 * 2
    assert (standard["schedule"], standard["total_flop_ratio_to_standard"]) == ([1, 2, 3, 4, 5], 1.0)
    assert plans("-m", "routing=lft,standard", cwd=tmp_path) == [lft, standard]
    assert not list(tmp_path.iterdir())


def test_one_plan_is_a_card_with_its_picture(tmp_path):
    card = command("plan.py", "routing=lft", "match=flops", cwd=tmp_path).stdout
    assert "  5                     1\n  4               1   2\n" in card
    for words in (
        "2,527,296: embedding 589,824 (23%)",
        "2.20 x the steps of standard",
        "8,448 bytes per token",
    ):
        assert words in card
    assert "projections 52.6%, attention 40.1%, head 7.3%" in card
    assert "-0.0014% beside standard" in card


def test_several_plans_are_pictures_a_table_and_the_sum(tmp_path):
    result = command("plan.py", "routing=lft,wide", "seed=0,1", "optimizer.learning_rate=1e-3", cwd=tmp_path)
    assert "4 runs, " in result.stdout
    assert result.stdout.count("twin: ") == 1
    assert len(re.findall(r"^(?:lft|wide) +2_5m +[01] ", result.stdout, re.MULTILINE)) == 4


def test_csv_holds_the_same_values(tmp_path):
    result = command("plan.py", "routing=lft,standard", "format=csv", cwd=tmp_path)
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["visit_map"] for row in rows] == ["2 3 3 2 1", "1 1 1 1 1"]
    assert rows[0]["parameters"] == "2527296"


def test_a_plan_loads_neither_torch_nor_lightning_nor_wandb(tmp_path):
    program = f"""
import atexit, runpy, sys
heavy = {{"torch", "lightning", "wandb", "pandas", "datasets"}}
atexit.register(lambda: print("loaded:", sorted(heavy & set(sys.modules))))
sys.argv = ["plan.py", "routing=lft,standard"]
sys.path[0] = {str(ROOT / "src")!r}
runpy.run_path({str(ROOT / "src/plan.py")!r}, run_name="__main__")
"""
    result = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "loaded: []"


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (["routing=standard", "match=flops"], "a run cannot be matched against itself"),
        (["match=flops", "match.reference=ltf"], "unknown routing; choose one of"),
        (["match=flops", "routing=standard", "match.reference=lft"], "2.02 epochs"),
        (["routing=explicit"], "routing.order has no value"),
        (["routing=explicit", "routing.order=[]"], "routing.order is empty"),
        (["routing=explicit", "routing.order=[1,2,3,4,5,6]"], "runs block 6"),
        (["routing=lft", "routing.share=[2,2]"], "names a block twice"),
        (["routing=loop", "routing.prelude=4"], "leave no core"),
        (["routing=lft", "routing.feedback_at=[1]"], "names block 1"),
        (["sharing.gradient=middle"], "sharing.gradient=middle is unknown; choose one of all, first, last"),
        (["sharing.feedback_after=1"], "must be from 0 up to but not 1"),
        (["format=xml"], "format=xml is unknown"),
        (["mfu=2"], "mfu=2.0 must be"),
        (["routing.revisit=1"], "routing.revisit"),
    ],
)
def test_a_wrong_request_is_one_line(tmp_path, overrides, complaint):
    result = command("plan.py", *overrides, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", SWEEPS)
def test_every_job_of_a_sweep_composes_and_costs_what_its_comment_says(name, tmp_path):
    jobs = plans("-cd", str(ROOT / "sweeps"), f"+sweep={name}", cwd=tmp_path)
    runs, flops = re.search(
        r"^# (\d+) runs, (\S+) training FLOPs$", (ROOT / f"sweeps/{name}.yaml").read_text(), re.MULTILINE
    ).groups()
    assert len(jobs) == int(runs)
    assert f"{sum(job['training_flops'] for job in jobs):.1e}" == flops
    assert len({job["run_id"] for job in jobs}) == len(jobs)


def test_a_dry_run_shows_what_then_runs(tmp_path):
    sweep = ("-cd", str(ROOT / "sweeps"), "+sweep=compute_matched")
    narrowed = ("routing=lft,deep", "scale=nano", "seed=0", "experiment=smoke", "budget.tokens=2000")
    jobs = plans(*sweep, *narrowed, cwd=tmp_path)
    result = command("train.py", *sweep, *narrowed, "logger=none", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert {job["run_id"] for job in jobs} == {folder.name for folder in (tmp_path / "runs").iterdir()}
    for job in jobs:
        folder = tmp_path / "runs" / job["run_id"]
        summary = json.loads((folder / "summary.json").read_text())
        record = json.loads((folder / "run.json").read_text())
        assert job["tokens"] == summary["train_tokens"]
        assert job["training_flops"] == summary["train_flops"]
        assert job["parameters"] == summary["parameters"]
        assert (job["schedule"], job["match"], job["arm"]) == (
            record["schedule"],
            record["match"],
            record["arm"],
        )


def test_the_agent_of_a_wandb_sweep_starts_runs_this_program_understands(tmp_path):
    sweep = load_sweep_config(str(ROOT / "sweeps/wandb/learning_rate.yaml"))
    chosen = {
        key: {"value": rule.get("value", rule.get("values", [rule.get("min")])[0])}
        for key, rule in sweep["parameters"].items()
    }
    arguments = create_sweep_command_args({"args": chosen})["args_no_hyphens"]
    assert create_sweep_command(sweep["command"])[-1] == "${args_no_hyphens}"
    (job,) = plans(*arguments, cwd=tmp_path)
    assert (job["arm"], job["scale"], job["budget_tokens"]) == ("lft", "2_5m", 100_000_000)
    assert (ROOT / sweep["program"]).exists()
