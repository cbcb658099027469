"""Two small trained runs, standard and LFT, and files of items."""

import shutil

import pytest
from evaluation.items import write_items
from training.conftest import corpus, prepared, tiny, tiny_config  # noqa: F401

from lft.evaluation import Settings
from lft.evaluation.scorer import Scorer
from lft.inference import load_trained
from lft.runs import find_runs
from lft.training import train

CONTEXT = 128


@pytest.fixture(scope="session")
def trained_runs(corpus, prepared, tmp_path_factory):  # noqa: F811
    """A folder with a run of each arm, not to be written to."""
    runs = tmp_path_factory.mktemp("trained") / "runs"
    for routing in ("standard", "lft"):
        train(
            tiny_config(
                corpus,
                prepared,
                runs,
                f"routing={routing}",
                f"scale.context_length={CONTEXT}",
                "optimizer.batch_tokens=256",
                "budget.tokens=5120",
                "budget.milestones=2",
                "precision=fp32",
            )
        )
    return runs


@pytest.fixture
def runs(trained_runs, tmp_path):
    """The same as a copy of one's own."""
    return shutil.copytree(trained_runs, tmp_path / "runs")


@pytest.fixture
def run(runs):
    """The run of LFT."""
    (folder,) = (folder for folder in find_runs(runs) if folder.name.startswith("lft"))
    return folder


@pytest.fixture
def settings(tmp_path):
    """Items from files."""
    return Settings(source="files", folder=str(write_items(tmp_path / "items")))


@pytest.fixture
def scorer(run, settings):
    """LFT, ready to score."""
    return Scorer(load_trained(run.path), settings)
