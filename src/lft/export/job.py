"""From a run to a folder that others load: written, compared with the run's model, and described."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from lft.errors import RequestError, RunFailed
from lft.export.card import model_card
from lft.export.deployment import DeploymentFigures, measure_deployment
from lft.export.formats import Format, LoadedModel
from lft.export.hugging_face import write_tokenizer
from lft.inference import TrainedModel
from lft.runs import machine, whole_or_absent, write_json

# Logits of these models are of the order of 10; their float32 sums differ by a few millionths.
TOLERANCE = 1e-3


def export(trained: TrainedModel, form: Format, folder: Path) -> DeploymentFigures:
    """Write a model in a format, with tokenizer, model card and `deployment.json`.

    What it takes to run is also kept in the run folder, where analysis reads it.

    Args:
        trained: The model.
        form: What to write.
        folder: A new folder; it appears when all is written and checked.

    Raises:
        RequestError: The folder is there already, or the format cannot hold the model.
        RunFailed: What was written does not compute what the model does.
    """
    with _new_folder(folder) as unfinished:
        print(f"exporting {trained.checkpoint} to {folder}", file=sys.stderr)
        form.write(trained, unfinished)
        write_tokenizer(trained, unfinished)
        _compare(trained, form.load(unfinished))
        figures = measure_deployment(unfinished, form, trained.model.shape.context_length)
        write_json(unfinished / "deployment.json", asdict(figures))
        model_card(trained, form, figures).save(unfinished / "README.md")
        for path in unfinished.iterdir():
            # safetensors leaves its files to their owner alone.
            path.chmod(unfinished.stat().st_mode & 0o666)
    _keep_figures(trained, form, figures)
    return figures


def _keep_figures(trained: TrainedModel, form: Format, figures: DeploymentFigures) -> None:
    place = {"format": form.name, "checkpoint_tokens": trained.tokens, "machine": machine()}
    path = trained.folder.exports / f"{form.name}-{trained.tokens:014d}.json"
    try:
        path.parent.mkdir(exist_ok=True)
        write_json(path, {**place, **asdict(figures)})
    except OSError as error:
        # Runs may be somebody else's; the export is whole without.
        print(f"the figures could not be kept in the run folder ({error})", file=sys.stderr)


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    if folder.exists():
        raise RequestError(f"{folder} is there already; remove it, or name another folder with out=...")
    is_new = not folder.parent.exists()
    try:
        with whole_or_absent(folder) as unfinished:
            unfinished.mkdir(parents=True)
            yield unfinished
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.parent.rmdir()
        raise


def _compare(trained: TrainedModel, loaded: LoadedModel) -> None:
    shape = trained.model.shape
    tokens = np.random.default_rng(0).integers(shape.vocab_size, size=(2, shape.context_length))
    with torch.inference_mode():
        expected = trained.model(torch.from_numpy(tokens)).numpy()
    difference = float(np.abs(loaded.logits(tokens) - expected).max())
    if not difference <= TOLERANCE:
        raise RunFailed(f"the exported model's logits differ from the run's by {difference:.2g}")
