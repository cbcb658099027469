"""Runs that measure their visits: nothing changes in them, and what they measured is whole and kept."""

import math
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch.optim import AdamW
from training.test_runs import Crash, assert_equal_weights, exact_metrics, weights
from twins import TINY, build, random_tokens

from lft.analysis import gradient_changes, loss_by_step, visits_table
from lft.diagnostics import activation_readings, gradient_readings, knockout_readings, visit_gradients
from lft.errors import RunFailed
from lft.routing import make_schedule
from lft.runs import RunState, VisitsFile, find_runs
from lft.training import StepCallback, train
from lft.training.optimizer import adamw_scale
from lft.training.visit_diagnostics import VisitDiagnostics, charted

MEASURED = ("diagnostics=default", "diagnostics.every_tokens=256", "diagnostics.knockout_sequences=3")
KEY = ["tokens", "block", "visit", "step", "part", "statistic"]


class RandomState(StepCallback):
    """Keeps torch's random state after every optimizer step."""

    def __init__(self):
        super().__init__()
        self.states = []

    def after_step(self, trainer, module):
        self.states.append(torch.get_rng_state())


def visits(folder):
    return pd.read_parquet(folder.visits)


@pytest.mark.parametrize(
    "conditions",
    [
        ["routing=lft"],
        ["routing=lft", "precision=fp32", "sharing.visit_conditioning=norm", "sharing.feedback_after=0.5"],
        ["routing=lft", "sharing.gradient=last"],
        ["routing=standard"],
    ],
)
def test_measuring_changes_nothing_in_the_run(tiny, tmp_path, conditions):
    states = RandomState(), RandomState()
    # Given, since measuring the rate of this machine draws random numbers once in a process.
    conditions = (*conditions, "peak_flops=1e12")
    torch.manual_seed(0)
    plain = train(tiny(*conditions, runs=tmp_path / "plain"), [states[0]])
    torch.manual_seed(0)
    measured = train(tiny(*conditions, *MEASURED, runs=tmp_path / "measured"), [states[1]])
    assert plain.name == measured.name
    assert_equal_weights(weights(plain), weights(measured))
    assert exact_metrics(plain) == exact_metrics(measured)
    assert all(torch.equal(*pair) for pair in zip(*(each.states for each in states), strict=True))
    assert measured.visits.exists() and not plain.visits.exists()


@pytest.mark.slow
def test_measuring_leaves_the_compiled_graph_alone():
    """In a process of its own, since checked tensor shapes do not compile."""
    script = Path(__file__).with_name("compiled_diagnostics.py")
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_the_record_is_tidy_and_whole(tiny):
    folder = train(tiny("routing=lft", *MEASURED))
    table = visits(folder)
    assert list(table.columns) == [*KEY, "value"]
    assert not table.duplicated(KEY).any()
    assert table["value"].map(math.isfinite).all()
    probed = table[table["statistic"] == "gradient_norm"]["tokens"]
    assert sorted(probed.unique()) == [0, 256, 512, 768, 1024, 1280]
    skipped = table[table["statistic"] == "skip_difference"]
    assert sorted(skipped["tokens"].unique()) == [320, 640, 960, 1280]
    assert list(skipped[skipped["tokens"] == 1280]["step"]) == [1, 2, 3, 4, 5]
    # The order 1 2 1 2 3 of three blocks.
    places = table.dropna(subset=["visit"])[["step", "block", "visit"]].drop_duplicates().sort_values("step")
    assert places.to_numpy().tolist() == [[1, 1, 1], [2, 2, 1], [3, 1, 2], [4, 2, 2], [5, 3, 1]]
    shares = table[(table["statistic"] == "gradient_share") & (table["part"] == "block")]
    assert shares.groupby(["tokens", "block"])["value"].sum().to_numpy() == pytest.approx(1.0)
    routes = table[(table["statistic"] == "route_loss") & (table["tokens"] == 1280)]
    assert set(routes["part"]) == {"trained", "standard", "revisits=2"}
    assert table[table["tokens"] == 0]["statistic"].str.startswith("adamw").sum() == 0
    pictures = sorted(path.name for path in folder.pictures.iterdir())
    expected = ["gradient_cosines.png", "gradient_share.png", "loss_by_step.png", "losses_without.png"]
    assert pictures == expected


@pytest.mark.parametrize("overrides", [["routing=standard"], ["routing=lft", "routing.revisits=0"]])
def test_without_revisits_there_are_no_pairs(tiny, overrides):
    folder = train(tiny(*overrides, *MEASURED))
    table = visits(folder)
    assert set(table["visit"].dropna()) == {1}
    assert not table["statistic"].str.contains("_cosine_v|update_previous").any()
    assert set(table[table["statistic"] == "route_difference"]["part"]) == {"lft"}
    assert "gradient_cosines.png" not in {path.name for path in folder.pictures.iterdir()}


class ProbeTokens(StepCallback):
    """Keeps what the probes of a run look at."""

    def on_train_start(self, trainer, module):
        super().on_train_start(trainer, module)
        (diagnostics,) = (each for each in trainer.callbacks if isinstance(each, VisitDiagnostics))
        self.tokens = torch.cat((diagnostics.probe_batch, diagnostics.knockout_batch))

    def after_step(self, trainer, module):
        pass


def test_probes_see_the_same_tokens_in_every_arm_and_seed(tiny):
    probes = [ProbeTokens() for _ in range(3)]
    for arm, probe in zip((["seed=0"], ["seed=1"], ["routing=standard"]), probes, strict=True):
        train(tiny("budget.tokens=64", "budget.milestones=1", *arm, *MEASURED), [probe])
    assert len(probes[0].tokens) == 4 + 3
    assert all(torch.equal(probes[0].tokens, probe.tokens) for probe in probes)


def test_arms_of_a_seed_do_the_same_before_their_routes_part(tiny):
    """At the start the embedding alone predicts alike, and so does the first step."""
    tables = [visits(train(tiny(f"routing={name}", *MEASURED))) for name in ("lft", "standard")]
    readouts = [
        table[(table["tokens"] == 0) & (table["statistic"] == "readout_loss")].set_index("step")["value"]
        for table in tables
    ]
    assert readouts[0][0] == readouts[1][0]
    assert readouts[0][1] == readouts[1][1]


def test_early_probes_follow_the_early_route(tiny):
    folder = train(tiny("routing=lft", "sharing.feedback_after=0.5", *MEASURED))
    table = visits(folder)
    steps = table[table["statistic"] == "residual_rms"].groupby("tokens")["step"].max()
    assert steps.to_dict() == {0: 3, 256: 3, 512: 3, 768: 5, 1024: 5, 1280: 5}
    routes = table[table["statistic"] == "route_difference"].groupby("tokens")["part"].agg(set).to_dict()
    assert routes[320] == {"revisits=2"} and routes[1280] == {"standard", "revisits=2"}
    # Figures name the blocks of the route that the run ended with, and a visit has one row.
    rows = visits_table(folder.path)
    labels = [label.get_text() for label in loss_by_step(rows).axes[0].get_xticklabels()]
    assert labels == ["emb", "1", "2", "1", "2", "3"]
    changes = gradient_changes(rows)
    assert changes[["block", "visit"]].to_numpy().tolist() == [[1, 1], [2, 1], [1, 2], [2, 2], [3, 1]]
    assert not changes[changes["visit"] == 1].isna().any(axis=None)


def test_a_diverging_run_fails_and_keeps_what_it_measured(tiny):
    frequent = ("diagnostics=default", "diagnostics.every_tokens=64", "trainer.log_every_n_steps=10")
    with pytest.raises(RunFailed, match=r"training diverged: .*nan"):
        train(tiny("routing=lft", "optimizer.learning_rate=1e30", *frequent))
    (folder,) = find_runs(tiny().paths.runs)
    assert folder.state is RunState.FAILED
    assert "lower optimizer.learning_rate" in folder.failure
    table = visits(folder)
    assert {0, 64} <= set(table["tokens"])
    assert table[table["tokens"] == 0]["value"].map(math.isfinite).all()


def test_a_run_that_breaks_off_has_pictures_of_what_it_measured(tiny):
    with pytest.raises(RunFailed, match="the machine caught fire"):
        train(tiny("routing=lft", *MEASURED), [Crash(3)])
    (folder,) = find_runs(tiny().paths.runs)
    assert "gradient_share.png" in {path.name for path in folder.pictures.iterdir()}


def test_no_run_is_lost_over_its_pictures(tiny, monkeypatch, capsys):
    def full_disk(folder):
        raise OSError("no space left on device")

    monkeypatch.setattr("lft.training.visit_diagnostics.save_pictures", full_disk)
    assert train(tiny("routing=lft", *MEASURED)).state is RunState.DONE
    assert "were not drawn: no space left on device" in capsys.readouterr().err


def test_a_damaged_record_is_kept_aside_when_the_run_resumes(tiny):
    with pytest.raises(RunFailed):
        train(tiny("routing=lft", *MEASURED), [Crash(13)])
    (folder,) = find_runs(tiny().paths.runs)
    folder.visits.write_bytes(b"torn")
    train(tiny("routing=lft", *MEASURED, "retry=true"))
    assert (folder.path / "visits.parquet.damaged").read_bytes() == b"torn"
    assert visits(folder)["tokens"].min() > 640


def test_the_seconds_of_training_leave_measuring_out(tiny, monkeypatch):
    def slow(*arguments):
        time.sleep(1.0)
        return []

    monkeypatch.setattr(VisitDiagnostics, "probe", slow)
    monkeypatch.setattr(VisitDiagnostics, "knock_out", slow)
    summary = train(tiny("routing=lft", "diagnostics=default")).read("summary.json")
    assert summary["seconds"] < 1.0


def test_a_run_that_diverges_at_its_end_is_not_done(tiny):
    """The last update is seen by validation alone."""
    with pytest.raises(RunFailed, match="training diverged: validation loss"):
        train(tiny("budget.tokens=64", "budget.milestones=1", "optimizer.learning_rate=1e38"))


def test_a_resumed_run_measures_what_one_that_never_stopped_does(tiny, tmp_path):
    whole = train(tiny("routing=lft", *MEASURED, runs=tmp_path / "whole"))
    with pytest.raises(RunFailed):
        # After the probe at 768 tokens, whose checkpoint was taken at 640.
        train(tiny("routing=lft", *MEASURED), [Crash(13)])
    resumed = train(tiny("routing=lft", *MEASURED, "retry=true"))
    tables = [visits(folder).sort_values(KEY, ignore_index=True) for folder in (whole, resumed)]
    pd.testing.assert_frame_equal(*tables)


def test_a_later_moment_gives_way_to_an_earlier_one(tmp_path):
    file = VisitsFile(tmp_path / "visits.parquet")
    reading = {"block": 1, "visit": 1, "step": 1, "part": "block", "statistic": "x", "value": 1.0}
    for tokens in (0, 10, 20, 30):
        file.add(tokens, [reading])
    VisitsFile(tmp_path / "visits.parquet").add(20, [{**reading, "value": 2.0}])
    table = pd.read_parquet(tmp_path / "visits.parquet")
    assert table[["tokens", "value"]].to_numpy().tolist() == [[0, 1.0], [10, 1.0], [20, 2.0]]
    assert [path.name for path in tmp_path.iterdir()] == ["visits.parquet"]


def test_the_metric_of_adamw_is_torchs_own():
    """A step of torch's AdamW, its state set so that the momentum after the step is one gradient."""
    beta1, beta2 = 0.9, 0.95
    parameter = torch.nn.Parameter(torch.randn(7, 5, dtype=torch.float64))
    optimizer = AdamW([parameter], lr=1.0, betas=(beta1, beta2), weight_decay=0.0)
    for _ in range(3):
        parameter.grad = torch.randn_like(parameter)
        optimizer.step()
    gradient = torch.randn_like(parameter)
    expected = gradient * adamw_scale(optimizer, parameter)

    state = optimizer.state[parameter]
    steps = state["step"].item()
    state["exp_avg"] = gradient * (1 - beta1 ** (steps + 1)) / beta1
    state["exp_avg_sq"] *= (1 - beta2 ** (steps + 1)) / (1 - beta2**steps) / beta2
    before = parameter.detach().clone()
    parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    torch.testing.assert_close(before - parameter.detach(), expected)


def test_the_charts_of_the_25m_model_stay_below_four_hundred():
    from dataclasses import replace

    model = build("lft", replace(TINY, num_blocks=12))
    tokens = random_tokens()
    gradients = visit_gradients(model, tokens[:, :-1], tokens[:, 1:])
    readings = [
        *gradient_readings(model, gradients),
        *gradient_readings(model, gradients, "adamw", torch.ones_like),
        *activation_readings(model, tokens[:, :-1], tokens[:, 1:]),
        *knockout_readings(model, tokens, {"standard": make_schedule("standard", 12)}, 2),
    ]
    keys = charted(readings)
    assert len(keys) < 400
    assert "visit/b02_v3/gradient_share" in keys and "visit/b12_v1/skip_difference" in keys
    assert "visit/b02/gradient_cancellation" in keys


def test_a_run_without_diagnostics_has_no_record_and_says_so_when_asked_again(tiny, capsys):
    folder = train(tiny())
    assert not folder.visits.exists() and not folder.pictures.exists()
    train(tiny(*MEASURED))
    assert "is done (its visits were not measured); force=true trains it again" in capsys.readouterr().err
    train(tiny(*MEASURED, "force=true"))
    assert folder.visits.exists()
