"""A tiny corpus and tiny runs, composed as the command line composes them."""

import json

import pytest
from composing import compose_train

WORDS = (
    "the quick brown fox jumps over a lazy dog while seven wizards quietly mix potions in a tower"
).split()


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """A file of sixty short made-up documents."""
    folder = tmp_path_factory.mktemp("corpus")
    lines = []
    for number in range(60):
        words = [WORDS[(number * step + step * step) % len(WORDS)] for step in range(1, 150)]
        lines.append(json.dumps({"text": " ".join(words)}))
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    return folder / "corpus.jsonl"


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """Where the token shards of the corpus lie, shared by all tests of a worker."""
    return tmp_path_factory.mktemp("prepared")


@pytest.fixture
def tiny(corpus, prepared, tmp_path):
    """Composes a run of 20 optimizer steps on a model of three small blocks."""

    def make(*overrides, runs=tmp_path / "runs"):
        return tiny_config(corpus, prepared, runs, *overrides)

    return make


def tiny_config(corpus, prepared, runs, *overrides):
    return compose_train(*tiny_overrides(corpus, prepared, runs), *overrides)


def tiny_overrides(corpus, prepared, runs):
    return [
        "scale=nano",
        "scale.num_blocks=3",
        "scale.d_model=16",
        "scale.num_heads=2",
        "scale.d_ff=24",
        "scale.context_length=16",
        "optimizer.batch_tokens=64",
        "optimizer.micro_batch_sequences=2",
        "budget.tokens=1280",
        "budget.milestones=4",
        "data=files",
        f"data.paths=[{corpus}]",
        "data.vocab_size=300",
        "data.validation_fraction=0.2",
        "data.validation_tokens=300",
        "trainer.log_every_n_steps=1",
        "trainer.accelerator=cpu",
        "compile=false",
        "logger=none",
        "callbacks=none",
        "diagnostics=none",
        f"paths.runs={runs}",
        f"paths.prepared={prepared}",
    ]
