"""From a run to a folder with everything in it, or to nothing."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from analysis.evaluated import add_evaluation, choice_item
from composing import ROOT
from huggingface_hub import ModelCard

import lft.export.job as job
from lft.analysis import exports_table
from lft.errors import RequestError, RunFailed
from lft.export import FORMATS, DeploymentFigures, export, push
from lft.inference import load_trained
from lft.training import train

FIGURES = DeploymentFigures(1000, 2000, 0.001, None, 8, 8)


@pytest.fixture
def run(tiny):
    return train(tiny("routing=lft"))


@pytest.fixture
def unmeasured(monkeypatch):
    monkeypatch.setattr(job, "measure_deployment", lambda *_: FIGURES)


def test_a_folder_holds_weights_tokenizer_card_and_figures(run, tmp_path, unmeasured):
    folder = tmp_path / "exports" / "model"
    export(load_trained(run.path), FORMATS["lft"], folder)
    names = {path.name for path in folder.iterdir()}
    assert names == {
        *("config.json", "generation_config.json", "model.safetensors", "modeling_lft.py"),
        *("tokenizer.json", "tokenizer_config.json", "deployment.json", "README.md"),
    }
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o644}
    assert list(folder.parent.iterdir()) == [folder]
    assert json.loads((folder / "deployment.json").read_text())["file_bytes"] == 1000


def test_the_card_tells_costs_data_results_and_limits(run, tmp_path, unmeasured):
    export(load_trained(run.path, "640"), FORMATS["llama"], tmp_path / "model")
    card = ModelCard.load(tmp_path / "model" / "README.md")
    assert card.data.to_dict()["library_name"] == "transformers"
    record = run.read("run.json")
    (row,) = (row for row in run.read_metrics() if row["tokens"] == 640 and "val/loss" in row)
    for fact in (
        "1 2 1 2 3",
        f"{record['costs']['parameters']:,}",
        record["data"]["fingerprint"],
        record["data"]["tokenizer_sha256"],
        record["git"]["commit"],
        "640 tokens",
        f"{row['val/loss']:.4f} nats",
        "## Limits",
    ):
        assert fact in card.text


def test_the_card_tells_what_the_checkpoint_scored(run, tmp_path, unmeasured):
    items = [choice_item(number, number < 3) for number in range(4)]
    add_evaluation(run, "piqa", items, tokens=1280)
    export(load_trained(run.path), FORMATS["lft"], tmp_path / "last")
    export(load_trained(run.path, "640"), FORMATS["lft"], tmp_path / "earlier")
    row = "| piqa (acc) | 75.00 % over 4 items (95 % interval 30.06 to 95.44), chance 50.00 % |"
    assert row in (tmp_path / "last" / "README.md").read_text()
    assert "piqa" not in (tmp_path / "earlier" / "README.md").read_text()


def test_what_it_takes_to_run_is_kept_with_the_run(run, tmp_path, unmeasured):
    export(load_trained(run.path), FORMATS["lft"], tmp_path / "last")
    export(load_trained(run.path, "640"), FORMATS["llama"], tmp_path / "earlier")
    assert {path.name for path in run.exports.iterdir()} == {
        "lft-00000000001280.json",
        "llama-00000000000640.json",
    }
    # Only of the last checkpoint is the loss known.
    (row,) = exports_table(run.path).to_dict("records")
    assert (row["format"], row["resident_bytes"], row["first_token_seconds"]) == ("lft", 2000, 0.001)
    assert row["val_loss"] == run.read("summary.json")["val_loss"] and row["machine"]


def test_what_is_there_is_never_overwritten(run, tmp_path, unmeasured):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("kept")
    with pytest.raises(RequestError, match=r"is there already; remove it, or name another .* out="):
        export(load_trained(run.path), FORMATS["lft"], tmp_path / "mine")
    assert (tmp_path / "mine" / "file").read_text() == "kept"


def test_a_folder_that_computes_something_else_does_not_appear(run, tmp_path, unmeasured):
    def write_other(trained, folder):
        other = load_trained(run.path, "320").model
        FORMATS["llama"].write(replace(trained, model=other), folder)

    with pytest.raises(RunFailed, match="logits differ from the run's by"):
        export(
            load_trained(run.path), replace(FORMATS["llama"], write=write_other), tmp_path / "new" / "model"
        )
    assert not (tmp_path / "new").exists()


class Hub:
    def __init__(self, refusal=None):
        self.refusal, self.calls = refusal, []

    def create_repo(self, name, **options):
        self.calls.append((name, options))

    def upload_folder(self, **options):
        if self.refusal:
            raise self.refusal
        self.calls.append(options)
        return "address"


def test_a_push_goes_to_a_private_repository(tmp_path):
    hub = Hub()
    assert push(hub, tmp_path, "me/model") == "address"
    assert hub.calls == [
        ("me/model", {"private": True, "exist_ok": True}),
        {"repo_id": "me/model", "folder_path": tmp_path},
    ]
    with pytest.raises(
        RequestError, match=r"is written, but push=me/model failed \(no space\); .* `hf upload`"
    ):
        push(Hub(OSError("no space\nat all")), tmp_path, "me/model")


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_the_command_writes_a_measured_folder(run, tmp_path, kind):
    program = [sys.executable, str(ROOT / "src/export.py"), f"run={run.path}", f"format={kind}"]
    done = subprocess.run([*program, f"out={tmp_path / 'out'}"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'out'}\n"), done.stderr
    assert "Resident memory it adds" in done.stderr
    figures = json.loads((tmp_path / "out" / "deployment.json").read_text())
    assert figures["first_token_seconds"] > 0 and figures["resident_bytes"] > 0
    assert figures["file_bytes"] == (tmp_path / "out" / FORMATS[kind].weights).stat().st_size


@pytest.mark.slow
def test_wrong_requests_end_in_a_line(run, tmp_path):
    def attempt(*arguments, **environment):
        program = [sys.executable, str(ROOT / "src/export.py"), f"run={run.path}", *arguments]
        variables = {"PATH": "", "HF_HOME": str(tmp_path / "hub"), **environment}
        done = subprocess.run(program, capture_output=True, text=True, cwd=tmp_path, env=variables)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
        assert not (tmp_path / "exports").exists()
        return done.stderr

    assert "format=gguf is not one of llama, lft, onnx" in attempt("format=gguf")
    assert "no account of the Hub is configured" in attempt("push=me/model")
    nowhere = "http://127.0.0.1:9"
    assert "the Hub does not answer" in attempt("push=me/model", HF_TOKEN="hf_none", HF_ENDPOINT=nowhere)
