"""From a run folder to a model that computes what the run did, and to text."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from composing import ROOT

from lft.data import PackedSequences, find
from lft.errors import RequestError
from lft.inference import Sampler, continue_text, load_trained
from lft.training import train


@pytest.fixture
def run(tiny):
    return train(tiny("routing=lft"))


def validation_loss(trained, config):
    data = find(config.data, Path(config.paths.prepared))
    sequences = PackedSequences(data.validation, 16)
    rows = torch.stack([torch.from_numpy(sequences[index]) for index in range(len(sequences))])
    with torch.no_grad():
        return trained.model.loss(rows[:, :-1], rows[:, 1:]).item()


@pytest.mark.parametrize(
    "conditions",
    [
        ["routing=lft"],
        ["routing=loop", "scale.qk_norm=true"],
        ["routing=lft", "sharing.visit_conditioning=norm"],
        ["routing=wide"],
        ["routing=deep"],
    ],
)
def test_every_checkpoint_computes_what_was_logged(tiny, conditions):
    config = tiny(*conditions, "precision=fp32")
    folder = train(config)
    for row in folder.read_metrics():
        if "val/loss" in row:
            trained = load_trained(folder.path, str(row["tokens"]))
            assert validation_loss(trained, config) == pytest.approx(row["val/loss"], rel=1e-5)
    assert load_trained(folder.path).checkpoint.name == "tokens-00000000001280.ckpt"


def test_a_checkpoint_from_before_feedback_runs_the_early_order(tiny):
    config = tiny("routing=lft", "sharing.feedback_after=0.5", "precision=fp32")
    folder = train(config)
    orders = {
        tokens: load_trained(folder.path, str(tokens)).model.schedule.block_order for tokens in (640, 960)
    }
    assert orders == {640: [1, 2, 3], 960: [1, 2, 1, 2, 3]}
    rows = {row["tokens"]: row["val/loss"] for row in folder.read_metrics() if "val/loss" in row}
    for tokens in orders:
        loss = validation_loss(load_trained(folder.path, str(tokens)), config)
        assert loss == pytest.approx(rows[tokens], rel=1e-5)


def test_the_folder_alone_suffices(run, tmp_path, monkeypatch):
    moved = tmp_path / "elsewhere" / run.name
    shutil.copytree(run.path, moved)
    monkeypatch.chdir(tmp_path)
    trained = load_trained(moved)
    assert trained.tokenizer.decode(trained.tokenizer.encode("the quick fox").ids) == "the quick fox"


def test_a_run_without_a_copy_of_its_tokenizer_uses_the_prepared_one(run):
    run.tokenizer.unlink()
    assert load_trained(run.path).tokenizer.get_vocab_size() == 300


def damage(run, name):
    if name == "no checkpoint":
        shutil.rmtree(run.checkpoints)
    elif name.startswith("cut short"):
        path = sorted(run.checkpoints.glob("tokens-*.ckpt"))[-1]
        path.write_bytes(path.read_bytes()[:1000])
        if name.endswith("no checksum"):
            path.with_name(f"{path.name}.sha256").unlink()
    elif name == "other tokenizer":
        run.tokenizer.write_text(run.tokenizer.read_text().replace("<|endoftext|>", "<|end|>"))


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("no checkpoint", "has no checkpoint of a milestone yet; train it further"),
        ("cut short", "is not the file that was saved: its sha256 .*; restore it or use another checkpoint="),
        ("cut short, no checksum", "cannot be read .*; use another checkpoint="),
        ("other tokenizer", "is not the tokenizer that .* was trained with; restore it"),
    ],
)
def test_what_is_missing_or_damaged_is_said(run, name, complaint):
    damage(run, name)
    with pytest.raises(RequestError, match=complaint):
        load_trained(run.path)


def test_wrong_requests_are_refused(run, tiny):
    with pytest.raises(RequestError, match="checkpoint=5 is not there; choose last or one of 320, 640, 960"):
        load_trained(run.path, "5")
    with pytest.raises(RequestError, match=r"no runs in .*; train some first, or give another .* run="):
        load_trained(run.path / "nowhere")
    train(tiny("routing=standard"))
    with pytest.raises(RequestError, match=r"holds 2 runs .*; name one of them"):
        load_trained(run.path.parent)


def test_pieces_of_text_are_the_text_of_all_tokens(run):
    trained = load_trained(run.path)
    assert trained.model.shape.context_length == 16
    whole = "".join(continue_text(trained, "the", 10, Sampler(temperature=0.0)))
    tokens = trained.tokenizer.encode("the", add_special_tokens=False).ids
    with torch.no_grad():
        for _ in range(10):
            tokens.append(int(trained.model(torch.tensor([tokens]))[0, -1].argmax()))
    assert "the" + whole == trained.tokenizer.decode(tokens)
    assert "".join(continue_text(trained, "", 5, Sampler(seed=3)))


@pytest.mark.slow
def test_the_command_writes_the_text_to_stdout_and_all_else_to_stderr(run):
    def generate(*arguments):
        program = [sys.executable, str(ROOT / "src/generate.py"), f"run={run.path}", *arguments]
        return subprocess.run(program, capture_output=True, text=True)

    first = generate("prompt=the quick", "max_tokens=8", "seed=1", "temperature=0.9", "top_k=20", "top_p=0.9")
    assert first.returncode == 0 and first.stdout.startswith("the quick")
    assert "tokens-00000000001280.ckpt" in first.stderr
    wrong = generate("top_p=2")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "top_p=2.0 must be above 0 and at most 1\n"
