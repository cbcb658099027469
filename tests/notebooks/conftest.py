"""A small study: four arms, two seeds each, trained, probed, asked, and one of them exported."""

import pytest
from evaluation.items import write_items
from training.conftest import corpus, prepared, tiny_config  # noqa: F401

from lft.evaluation import Settings
from lft.evaluation.job import evaluate_runs
from lft.export import FORMATS, export
from lft.inference import load_trained
from lft.training import train

ARMS = ("standard", "lft", "loop", "deep")
CLAIM = "+claims={better:{statement:Revisits help,arm:lft,smallest_effect:0.01,seeds:2}}"


@pytest.fixture(scope="session")
def study(corpus, prepared, tmp_path_factory):  # noqa: F811
    """The folder with the run folders."""
    place = tmp_path_factory.mktemp("study")
    for seed in (0, 1):
        for arm in ARMS:
            arguments = [f"routing={arm}", f"seed={seed}", "scale.num_blocks=4", CLAIM]
            arguments += ["scale.context_length=128", "optimizer.batch_tokens=256", "budget.tokens=5120"]
            # Visits are probed at the milestones.
            arguments += ["diagnostics=default", "diagnostics.probe_sequences=1"]
            arguments += ["diagnostics.knockout_sequences=1", "data.validation_tokens=1300"]
            folder = train(tiny_config(corpus, prepared, place / "runs", *arguments))
    settings = Settings(source="files", folder=str(write_items(place / "items")))
    evaluate_runs(str(place / "runs"), ["piqa"], "last", settings, False)
    export(load_trained(folder.path), FORMATS["lft"], place / "model")
    return place / "runs"
