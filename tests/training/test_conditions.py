"""Whole runs under the conditions that confound sharing, and matched to another routing."""

import pytest
import torch

from lft.errors import RequestError
from lft.model import initialize
from lft.planning import StepCosts, make_plan
from lft.runs import RunFolder, RunState
from lft.training import calibration, train
from lft.training.calibration import settle_match


def losses(folder):
    return [row["train/loss"] for row in folder.read_metrics() if "train/loss" in row]


def test_feedback_starts_after_its_share_of_the_steps(tiny):
    late = train(tiny("routing=lft", "sharing.feedback_after=0.5"))
    standard, lft = train(tiny("routing=standard")), train(tiny("routing=lft"))
    assert losses(late)[:10] == losses(standard)[:10]
    assert losses(late)[10:] != losses(standard)[10:]
    rows = {row["step"]: row["train/flops"] for row in late.read_metrics()}
    flops = {folder: folder.read("summary.json")["train_flops"] for folder in (late, standard, lft)}
    assert rows[20] == flops[late] == (flops[standard] + flops[lft]) // 2
    assert rows[10] == flops[standard] // 2


def test_factors_of_visits_that_have_not_started_wait_unchanged(tiny):
    config = tiny("routing=lft", "sharing.feedback_after=0.5", "sharing.visit_conditioning=scale")
    folder = train(config)
    kept = {int(path.stem.split("-")[1]): path for path in folder.checkpoints.glob("tokens-*.ckpt")}
    factors = [
        torch.load(kept[tokens], weights_only=True)["state_dict"]["model.visit_factors.b01_v2"]
        for tokens in (640, 1280)
    ]
    assert torch.equal(factors[0], torch.ones(16))
    assert not torch.equal(factors[1], torch.ones(16))


@pytest.mark.parametrize("stopped_after", [7, 13])
def test_a_late_start_of_feedback_survives_a_stop(tiny, tmp_path, stopped_after):
    from training.test_runs import Crash, assert_equal_weights, weights

    overrides = ("routing=lft", "sharing.feedback_after=0.5")
    whole = train(tiny(*overrides, runs=tmp_path / "whole"))
    with pytest.raises(Exception, match="fire"):
        train(tiny(*overrides), [Crash(stopped_after)])
    assert_equal_weights(weights(whole), weights(train(tiny(*overrides, "retry=true"))))


@pytest.mark.parametrize(
    "condition",
    [
        "sharing.gradient=last",
        "sharing.visit_conditioning=scale",
        "sharing.visit_conditioning=norm",
        "sharing.residual_init=execution_depth",
        "sharing.learning_rate=visits",
        "sharing.weight_decay=visits",
    ],
)
def test_every_condition_reaches_training(tiny, condition):
    changed, plain = train(tiny("routing=lft", condition)), train(tiny("routing=lft"))
    assert losses(changed) != losses(plain)
    key, value = condition.removeprefix("sharing.").split("=")
    assert changed.read("run.json")["arm"] == f"lft {key}={value}"
    summary = changed.read("summary.json")
    assert summary["parameters"] == make_plan(tiny("routing=lft", condition)).costs.parameters


def test_the_match_and_the_twin_are_recorded_and_said(tiny, capsys):
    folder = train(tiny("routing=wide", "match=flops", "match.reference=lft"))
    record = folder.read("run.json")
    assert record["match"]["by"] == "flops" and "mismatch" in record["match"]
    assert record["twin"]["of"] == "lft" and abs(record["twin"]["mismatch"]) < 0.05
    assert record["model"]["d_ff"] > 24
    said = capsys.readouterr().err
    assert "match=flops: " in said and "twin: " in said


def test_a_match_that_reads_the_text_too_often_is_refused_before_anything_is_written(tiny, tmp_path):
    long = ("routing=standard", "match=flops", "match.reference=lft", "budget.tokens=8000")
    with pytest.raises(RequestError, match=r"epochs of the [\d,]+ training tokens; give more text"):
        train(tiny(*long))
    assert not list((tmp_path / "runs").glob("*/config.json"))
    assert train(tiny(*long, "match.max_epochs=9")).state is RunState.DONE


def test_a_match_by_seconds_is_calibrated_here_and_the_measurement_is_kept(tiny):
    config = tiny("routing=lft", "match=wallclock")
    folder = train(config)
    record = folder.read("run.json")
    costs = record["match"]["step_costs"]
    assert costs["measured"] and costs["arm"] > 0 and costs["reference"] > 0
    assert record["match"]["unit"] == "seconds"
    assert folder.read("summary.json")["train_tokens"] == record["plan"]["tokens"]
    # The measurement stands for a second start and for another seed, but not for another arm.
    other_seed, other_arm = (
        tiny("routing=lft", "match=wallclock", "seed=1"),
        tiny("routing=loop", "match=wallclock"),
    )
    for request in (config, other_seed):
        again = settle_match(request, make_plan(request), folder)
        assert again.match.step_costs == StepCosts(**costs)
        assert again.steps == record["plan"]["steps"]
    measured_anew = settle_match(other_arm, make_plan(other_arm), folder)
    assert measured_anew.match.step_costs != StepCosts(**costs)


def test_calibration_measures_models_as_they_train(tiny, tmp_path, monkeypatch):
    # The initial weights of torch give numbers that are many times slower to compute with on a CPU.
    models = []

    def recorded(model, *arguments):
        models.append(model)
        initialize(model, *arguments)

    monkeypatch.setattr(calibration, "initialize", recorded)
    config = tiny("routing=lft", "match=wallclock", "sharing.feedback_after=0.5")
    settle_match(config, make_plan(config), RunFolder(tmp_path / "runs" / "new"))
    assert [model.schedule.num_steps for model in models] == [5, 3, 3]


def test_calibration_wants_one_device(tiny, tmp_path):
    config = tiny("routing=lft", "match=wallclock", "trainer.devices=2")
    with pytest.raises(RequestError, match="match=wallclock calibrates on one device"):
        settle_match(config, make_plan(config), RunFolder(tmp_path / "runs" / "new"))
