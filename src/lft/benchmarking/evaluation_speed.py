"""An evaluation from its items to their rows, beside the bare forward passes it needs."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from lft.benchmarking.ratio import Ratio
from lft.benchmarking.turns import timed
from lft.config import TrainConfig
from lft.data import load_tokenizer, open_source, prepare
from lft.evaluation import Settings
from lft.inference import TrainedModel
from lft.model import Transformer, initialize
from lft.planning import make_plan
from lft.runs import RunFolder

TURNS, ITEMS, CHOICES = 5, 500, 4
# About those of HellaSwag.
CONTEXT_WORDS, CHOICE_WORDS = 40, 20


def measure_evaluation_speed(config: TrainConfig) -> Ratio:
    """Ask 500 items of four choices as lm-eval's HellaSwag, in turn with a forward pass of each batch."""
    # Before lm-eval loads: its bars are no part of an evaluation here.
    os.environ.setdefault("TQDM_DISABLE", "1")
    from lft.evaluation.harness import HarnessTask, loaded_tasks
    from lft.evaluation.local_files import LOCAL_FILES
    from lft.evaluation.scorer import Scorer
    from lft.evaluation.scoring import Pair, Score, batches, padded

    class KeepingScorer(Scorer):
        """Keeps what it was asked to score."""

        pairs: Sequence[Pair] = ()

        def score(self, pairs: Sequence[Pair], what: str) -> list[Score]:
            self.pairs = pairs
            return super().score(pairs, what)

    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        lines = "".join(f"{json.dumps(item)}\n" for item in _items(config))
        (folder / LOCAL_FILES["hellaswag"].name).write_text(lines, encoding="utf-8")
        settings = Settings(source="files", folder=temporary)
        task = HarnessTask("hellaswag", settings)
        scorer = KeepingScorer(_untrained(config, folder), settings)
        task.ask(scorer)
        inputs = [
            padded([scorer.pairs[index] for index in indices])
            for indices in batches(scorer.pairs, settings.batch_tokens)
        ]

        def ask_anew() -> None:
            # Reading the items is part of an evaluation; only further models are spared it.
            loaded_tasks.cache_clear()
            task.ask(scorer)

        turns = [(timed(ask_anew), timed(lambda: _forward(scorer.model, inputs))) for _ in range(TURNS)]
    name = f"evaluation's share of the speed of bare forward passes, {ITEMS * CHOICES} choices"
    return Ratio.of_turns(name, turns)


@torch.inference_mode()
def _forward(model: Transformer, inputs: Sequence[torch.Tensor]) -> None:
    for tokens in inputs:
        model(tokens)


def _untrained(config: TrainConfig, folder: Path) -> TrainedModel:
    data = prepare(config.data, Path(config.paths.prepared))
    plan = make_plan(config)
    model = Transformer(plan.shape, plan.schedule).eval()
    initialize(model, config.seed)
    return TrainedModel(RunFolder(folder), folder, model, load_tokenizer(data.tokenizer_path))


def _items(config: TrainConfig) -> list[dict[str, Any]]:
    """Items out of the training text."""
    words: list[str] = []
    needed = ITEMS * (CONTEXT_WORDS + CHOICES * CHOICE_WORDS)
    for document in open_source(config.data).documents():
        words += document.split()
        if len(words) >= needed:
            break

    def take(count: int) -> str:
        taken, words[:count] = " ".join(words[:count]), []
        return taken

    return [
        {
            "activity_label": "Text",
            "ctx_a": take(CONTEXT_WORDS),
            "ctx_b": "it",
            "endings": [take(CHOICE_WORDS) for _ in range(CHOICES)],
            "label": "0",
        }
        for _ in range(ITEMS)
    ]
