"""What a run sends to Weights & Biases beside its charts."""

import pytest
from tracking.wandb_server import service_of_its_own  # noqa: F401

from lft.runs import RunFolder, RunState
from lft.training import WeightsAndBiases

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path):
    folder = RunFolder(tmp_path / "runs" / "lft")
    folder.create({"seed": 0}, {"run_id": "lft"})
    folder.tokenizer.write_text("{}")
    return folder


def started(folder, mode):
    logger = WeightsAndBiases(folder.path, "lft", "lft-0000", {}, "lft", None, "", [], mode)
    logger.start()
    return logger


def sent(folder):
    (files,) = folder.path.glob("wandb/offline-run-*/files")
    names = ("config.json", "run.json", "metrics.jsonl", "summary.json", "visits.parquet", "FAILED")
    found = [*(files / name for name in names), *files.glob("evals/*"), *files.glob("tokenizer*")]
    return {str(path.relative_to(files)): path.read_text() for path in found if path.exists()}


def test_the_record_goes_along_as_copies_at_the_start_the_end_and_with_visits(folder):
    logger = started(folder, "offline")
    at_start = sent(folder)
    assert list(at_start) == ["config.json", "run.json"]
    for reading in ("first", "second"):
        folder.visits.write_text(reading)
        logger.log_metrics({"train/tokens": 64, "train/loss": 1.0}, step=1)
        logger.log_metrics({"train/tokens": 64, "visit/b01_v1/gradient_norm": 1.0}, step=1)
        assert sent(folder) == {**at_start, "visits.parquet": reading}
    folder.evaluations.mkdir()
    folder.items("piqa").write_text("items")
    (folder.path / "metrics.jsonl").write_text("{}\n")
    folder.mark_done({"val_loss": 3.0})
    logger.finish(0, {"val_loss": 3.0})
    everything = sent(folder)
    assert set(everything) == {
        *at_start,
        "visits.parquet",
        "evals/piqa.parquet",
        "metrics.jsonl",
        "summary.json",
    }
    # The folder may go before it is synchronized.
    (folder.path / "run.json").unlink()
    assert sent(folder) == everything
    assert not [path for path in folder.path.glob("wandb/offline-run-*/files/**/*") if path.is_symlink()]


@pytest.mark.parametrize("mode", ["offline", "disabled"])
def test_a_failure_is_sent_with_its_cause(folder, mode):
    logger = started(folder, mode)
    folder.mark_failed("ValueError: the disk is full")
    logger.finish(1)
    assert folder.state is RunState.FAILED
    if mode == "offline":
        assert sent(folder)["FAILED"] == "ValueError: the disk is full"
