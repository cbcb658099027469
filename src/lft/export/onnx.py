"""An ONNX graph in which each stored block's weights are one initializer, read at every step of the block."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from onnxruntime import InferenceSession

from lft.inference import TrainedModel

FILE_NAME = "model.onnx"


def write_onnx(trained: TrainedModel, folder: Path) -> None:
    """Write `model.onnx`: `tokens[batch, time]` in, `logits[batch, time, vocabulary]` out.

    Both sizes are free, the time up to the context length. The graph keeps no cache.
    """
    example = torch.zeros((2, min(8, trained.model.shape.context_length)), dtype=torch.int64)
    sizes = {
        0: torch.export.Dim("batch"),
        1: torch.export.Dim("time", max=trained.model.shape.context_length),
    }
    with _quiet():
        program = torch.onnx.export(
            trained.model,
            (example,),
            input_names=["tokens"],
            output_names=["logits"],
            dynamic_shapes=(sizes,),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    for node in program.model.graph:
        # Stack traces of the exporter, a few hundred bytes for each operation.
        node.metadata_props.clear()
    program.save(folder / FILE_NAME)


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter reports its stages and the age of its opsets; neither is anyone's to act on."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


class OnnxModel:
    """A written file, run by ONNX Runtime."""

    def __init__(self, folder: Path) -> None:
        self.session = InferenceSession(folder / FILE_NAME)

    def logits(self, tokens: np.ndarray) -> np.ndarray:
        """Logits `[batch, time, vocabulary]` of token ids `[batch, time]`."""
        return self.session.run(None, {"tokens": tokens})[0]

    def generate(self, tokens: np.ndarray, new_tokens: int) -> np.ndarray:
        """Token ids with so many more, the most likely ones; every token runs all positions anew."""
        for _ in range(new_tokens):
            chosen = self.logits(tokens)[:, -1:].argmax(axis=-1)
            tokens = np.concatenate((tokens, chosen), axis=1)
        return tokens
