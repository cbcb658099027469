"""Whole runs of a tiny model: equal arms, exact resume, honest endings."""

import hashlib
import json
import math
from pathlib import Path

import pytest
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities.exceptions import SIGTERMException
from tokenizers import Tokenizer

from lft.analysis import differences_over_seeds
from lft.data import PackedSequences, find
from lft.errors import RequestError, RunFailed
from lft.model import Transformer
from lft.planning import make_plan
from lft.runs import RunState, find_runs, read_evaluations
from lft.training import LanguageModel, train


class Crash(Callback):
    """Breaks a run off after an optimizer step, as a lost machine would."""

    def __init__(self, step, error=None):
        self.step = step
        self.error = error or ValueError("the machine caught fire")

    def on_train_batch_end(self, trainer, *args):
        if trainer.global_step == self.step:
            raise self.error


class Batches(Callback):
    """Keeps every batch that was trained on."""

    def __init__(self):
        self.seen = []

    def on_train_batch_start(self, trainer, module, batch, index):
        self.seen.append(batch.clone())


def weights(folder):
    return torch.load(folder.last_checkpoint, weights_only=True)["state_dict"]


def exact_metrics(folder):
    """The logged rows without their timings."""
    return [
        {key: value for key, value in row.items() if not key.startswith("perf/")}
        for row in folder.read_metrics()
    ]


def assert_equal_weights(first, second):
    assert list(first) == list(second)
    for name, weight in first.items():
        assert torch.equal(weight, second[name]), name


def test_a_run_leaves_what_the_contract_names(tiny):
    config = tiny("routing=lft")
    folder = train(config)
    assert folder.state is RunState.DONE
    assert folder.name.startswith("lft-nano-1280-s0-")
    record, summary = folder.read("run.json"), folder.read("summary.json")
    assert record["schedule"] == [1, 2, 1, 2, 3]
    assert {"git", "packages", "hardware", "data", "costs", "plan", "execution"} <= set(record)
    assert set(summary) == set(
        "routing scale budget_tokens seed parameters num_blocks num_steps visit_map train_tokens val_loss "
        "val_bits_per_byte train_flops seconds joules tokens_per_second peak_memory_bytes".split()
    )
    assert summary["train_tokens"] == 1280
    assert summary["parameters"] == make_plan(config).costs.parameters
    assert summary["train_flops"] == make_plan(config).training_flops
    rows = folder.read_metrics()
    assert [row["step"] for row in rows] == list(range(1, 21))
    assert [row["tokens"] for row in rows] == [64 * step for step in range(1, 21)]
    assert [row["step"] for row in rows if "val/loss" in row] == [5, 10, 15, 20]
    assert rows[-1]["val/loss"] == summary["val_loss"]
    assert rows[0]["train/loss"] == pytest.approx(math.log(300), abs=0.05)
    kept = sorted(path.name for path in folder.checkpoints.iterdir())
    milestones = [f"tokens-{64 * step:014d}.ckpt" for step in (5, 10, 15, 20)]
    assert kept == ["last.ckpt", *(name + end for name in milestones for end in ("", ".sha256"))]
    for name in milestones:
        content = (folder.checkpoints / name).read_bytes()
        line = (folder.checkpoints / f"{name}.sha256").read_text()
        assert line == f"{hashlib.sha256(content).hexdigest()}  {name}\n"


def test_every_checkpoint_loads_as_plain_weights(tiny):
    config = tiny()
    folder = train(config)
    plan = make_plan(config)
    for path in folder.checkpoints.glob("*.ckpt"):
        module = LanguageModel(Transformer(plan.shape, plan.schedule), config, plan)
        module.load_state_dict(torch.load(path, weights_only=True)["state_dict"])


def test_arms_see_equal_batches_and_no_revisit_is_standard_to_the_bit(tiny):
    batches = [Batches() for _ in range(3)]
    standard = train(tiny("routing=standard"), [batches[0]])
    unrevisited = train(tiny("routing=lft", "routing.revisits=0"), [batches[1]])
    lft = train(tiny("routing=lft"), [batches[2]])
    assert len(batches[0].seen) == 40
    for other in batches[1:]:
        assert all(torch.equal(a, b) for a, b in zip(batches[0].seen, other.seen, strict=True))
    assert_equal_weights(weights(standard), weights(unrevisited))
    assert exact_metrics(standard) == exact_metrics(unrevisited)
    assert exact_metrics(standard) != exact_metrics(lft)


def test_a_seed_decides_everything(tiny, tmp_path):
    first = train(tiny("seed=0", runs=tmp_path / "first"))
    again = train(tiny("seed=0", runs=tmp_path / "again"))
    other = train(tiny("seed=1"))
    assert_equal_weights(weights(first), weights(again))
    assert exact_metrics(first) == exact_metrics(again)
    assert exact_metrics(first) != exact_metrics(other)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_resumed_run_equals_one_that_never_stopped(tiny, tmp_path, workers):
    overrides = [f"data.loader_workers={workers}"]
    whole = train(tiny(runs=tmp_path / "whole"))
    with pytest.raises(RunFailed, match="the machine caught fire"):
        train(tiny(*overrides), [Crash(13)])
    resumed = train(tiny(*overrides, "retry=true"))
    assert resumed.name == whole.name
    assert_equal_weights(weights(whole), weights(resumed))
    assert exact_metrics(whole) == exact_metrics(resumed)


# A refactoring leaves these as they are; a change that means to alter numbers moves them, and says so.
GOLDEN_LOSSES = {
    "standard": [4.900504, 4.329404, 4.058966, 3.964313],
    "lft": [4.917632, 4.346529, 4.080269, 3.987445],
}


@pytest.mark.parametrize("routing", GOLDEN_LOSSES)
def test_losses_are_the_golden_ones(tiny, routing):
    overrides = (f"routing={routing}", "optimizer.learning_rate=0.01", "precision=fp32")
    rows = train(tiny(*overrides)).read_metrics()
    losses = [row["val/loss"] for row in rows if "val/loss" in row]
    assert losses == pytest.approx(GOLDEN_LOSSES[routing], rel=1e-5)


def test_loader_workers_do_not_change_the_run(tiny, tmp_path):
    alone = train(tiny())
    helped = train(tiny("data.loader_workers=2", runs=tmp_path / "helped"))
    assert_equal_weights(weights(alone), weights(helped))


def test_accumulation_changes_rounding_only(tiny):
    pieces, at_once = train(tiny()), train(tiny("optimizer.micro_batch_sequences=4"))
    for row, other in zip(exact_metrics(pieces), exact_metrics(at_once), strict=True):
        assert row["train/loss"] == pytest.approx(other["train/loss"], rel=1e-4)
        assert row["optim/grad_norm"] == pytest.approx(other["optim/grad_norm"], rel=1e-2)


def test_a_crash_leaves_its_cause_and_waits_for_retry(tiny):
    with pytest.raises(RunFailed, match=r"failed: ValueError: the machine caught fire"):
        train(tiny(), [Crash(7)])
    (folder,) = find_runs(tiny().paths.runs)
    assert folder.state is RunState.FAILED
    assert "Traceback" in (folder.path / "FAILED").read_text()
    with pytest.raises(RunFailed, match=r"failed before .*retry=true resumes it"):
        train(tiny())
    assert train(tiny("retry=true")).state is RunState.DONE


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SIGTERMException])
def test_an_interrupted_run_resumes_without_being_asked(tiny, interrupt):
    with pytest.raises(SystemExit) as stop:
        train(tiny(), [Crash(7, interrupt())])
    assert stop.value.code == 1
    folder = train(tiny())
    assert folder.state is RunState.DONE
    assert [row["step"] for row in folder.read_metrics()] == list(range(1, 21))


def test_a_run_stopped_after_its_last_step_is_finished(tiny):
    folder = train(tiny())
    summary = folder.read("summary.json")
    for name in ("DONE", "summary.json"):
        (folder.path / name).unlink()
    again = train(tiny()).read("summary.json")
    assert (again["val_loss"], again["train_tokens"]) == (summary["val_loss"], summary["train_tokens"])


def test_a_done_run_is_left_alone_unless_forced(tiny, capsys):
    folder = train(tiny())
    (folder.path / "note.txt").write_text("mine")
    written = (folder.path / "summary.json").stat().st_mtime_ns
    train(tiny())
    assert "is done; force=true trains it again" in capsys.readouterr().err
    assert (folder.path / "summary.json").stat().st_mtime_ns == written
    assert (folder.path / "note.txt").exists()
    train(tiny("force=true"))
    assert (folder.path / "summary.json").stat().st_mtime_ns > written


def test_a_run_refuses_to_mix_two_versions_of_its_text(tiny, corpus, tmp_path):
    text = tmp_path / "text.jsonl"
    text.write_text(corpus.read_text())
    train(tiny(f"data.paths=[{text}]"))
    text.write_text(corpus.read_text() + '\n{"text": "one more document"}')
    with pytest.raises(RequestError, match="has changed since it was trained"):
        train(tiny(f"data.paths=[{text}]"))


def test_a_diverging_run_fails_with_its_cause(tiny):
    with pytest.raises(RunFailed, match="training diverged: loss nan"):
        train(tiny("optimizer.learning_rate=1e30"))


def test_several_passes_are_said(tiny, capsys):
    at_once = ("optimizer.batch_tokens=6400", "optimizer.micro_batch_sequences=400")
    train(tiny("budget.tokens=51200", *at_once))
    assert "times, reshuffled for each pass" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("scale.context_length=16000", "context"),
        ("+trainer.devicez=2", "trainer cannot be used as given"),
        ("+trainer.max_steps=1", "trainer.max_steps is set by this program"),
        ("trainer.accelerator=cuda", "trainer cannot be used as given"),
        ("precision=bf16", "does not compute in bf16"),
    ],
)
def test_a_wrong_request_leaves_nothing(tiny, tmp_path, monkeypatch, override, complaint):
    monkeypatch.setattr("lft.training.hardware.computes_bfloat16", lambda device: False)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    extra = ["optimizer.batch_tokens=16000", "budget.tokens=16000"] if "context" in override else []
    with pytest.raises(RequestError, match=complaint):
        train(tiny(override, *extra))
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())


def test_validation_loss_is_the_mean_over_all_tokens(tiny):
    """Against a plain loop over single sequences, and bytes counted from the text itself."""
    config = tiny()
    folder = train(config)
    data = find(config.data, Path(config.paths.prepared))
    plan = make_plan(config)
    module = LanguageModel(Transformer(plan.shape, plan.schedule), config, plan)
    module.load_state_dict(weights(folder))
    sequences = PackedSequences(data.validation, 16)
    total, size = 0.0, 0
    tokenizer = Tokenizer.from_file(str(data.tokenizer_path))
    with torch.no_grad():
        for index in range(sequences.num_sequences):
            row = torch.from_numpy(sequences.batch([index]))
            total += module.model.loss(row[:, :-1], row[:, 1:]).item() * 16
            size += len(tokenizer.decode(row[0, 1:].tolist(), skip_special_tokens=True).encode())
    tokens = 16 * sequences.num_sequences
    summary = folder.read("summary.json")
    assert summary["val_loss"] == pytest.approx(total / tokens, rel=1e-5)
    assert summary["val_bits_per_byte"] == pytest.approx(total / math.log(2) / size, rel=1e-5)


def test_every_validation_sequence_is_kept_so_that_runs_compare_one_by_one(tiny):
    arm, other = train(tiny("routing=lft")), train(tiny("routing=standard"))
    made = read_evaluations(arm.items("validation"))
    items = made.items.to_pandas()
    losses = -items["log_probabilities"].explode().astype(float) / items["tokens"].explode().astype(float)
    assert losses.mean() == pytest.approx(arm.read("summary.json")["val_loss"], rel=1e-12)
    assert losses.nunique() > 1
    assert list(made.provenance) == [1280]
    compared = differences_over_seeds(arm.path.parent, ["validation"])
    assert set(compared["metric"]) == {"nats_per_token", "bits_per_byte"}
    by_metric = compared.set_index("metric")["difference"]
    for metric, name in (("nats_per_token", "val_loss"), ("bits_per_byte", "val_bits_per_byte")):
        difference = arm.read("summary.json")[name] - other.read("summary.json")[name]
        assert by_metric[metric] == pytest.approx(difference, abs=1e-12)


class Joules:
    """A meter that counts one more each time it is read."""

    resolution, per_device = 0.0, True

    def __init__(self):
        self.count = 0

    def read(self):
        self.count += 1
        return float(self.count)


def test_joules_of_training_are_logged_and_survive_a_stop(tiny, monkeypatch):
    monkeypatch.setattr("lft.training.job.energy_meter", lambda device: Joules())
    with pytest.raises(SystemExit):
        train(tiny(), [Crash(13, KeyboardInterrupt())])
    folder = train(tiny())
    # A step takes one reading; what lies between a validation and the next step is left out.
    assert [row["perf/joules"] for row in folder.read_metrics()] == list(range(1, 21))
    assert folder.read("summary.json")["joules"] == 20.0


def test_a_run_that_was_not_metered_throughout_has_no_joules(tiny, monkeypatch):
    monkeypatch.setattr("lft.training.job.energy_meter", lambda device: None)
    with pytest.raises(SystemExit):
        train(tiny(), [Crash(13, KeyboardInterrupt())])
    monkeypatch.setattr("lft.training.job.energy_meter", lambda device: Joules())
    folder = train(tiny())
    assert not any("perf/joules" in row for row in folder.read_metrics())
    assert folder.read("summary.json")["joules"] is None


def test_metrics_are_plain_json_lines(tiny):
    folder = train(tiny())
    for line in (folder.path / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        assert {"step", "tokens", "train/tokens"} <= set(row)
