"""The formats: how each is written, loaded again, and explained to its users."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from lft.export.hugging_face import HuggingFaceModel, write_lft, write_llama
from lft.export.onnx import FILE_NAME, OnnxModel, write_onnx
from lft.inference import TrainedModel


class LoadedModel(Protocol):
    """An exported model in the program that its users run it with."""

    def logits(self, tokens: np.ndarray) -> np.ndarray:
        """Logits `[batch, time, vocabulary]` of token ids `[batch, time]`."""

    def generate(self, tokens: np.ndarray, new_tokens: int) -> np.ndarray:
        """Token ids with so many more, the most likely ones."""


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes:
        name: What it is asked for by.
        write: Writes a model into a folder.
        load: Loads what was written.
        weights: The file that holds the weights.
        library: What loads it, as the Hub names it.
        explanation: What the files hold, for the model card.
        usage: The line that loads it.
    """

    name: str
    write: Callable[[TrainedModel, Path], None]
    load: Callable[[Path], LoadedModel]
    weights: str
    library: str
    explanation: str
    usage: str


_ALL = (
    Format(
        "llama",
        write_llama,
        HuggingFaceModel,
        "model.safetensors",
        "transformers",
        "The route is unrolled: every step is a layer with a copy of its block's weights, so that stock "
        "`transformers` loads it.",
        "AutoModelForCausalLM.from_pretrained(folder)",
    ),
    Format(
        "lft",
        write_lft,
        HuggingFaceModel,
        "model.safetensors",
        "transformers",
        "The stored blocks are there once; `modeling_lft.py` executes them in the order of `schedule`. "
        "`AutoTokenizer` takes `trust_remote_code=True` too, or asks.",
        "AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)",
    ),
    Format(
        "onnx",
        write_onnx,
        OnnxModel,
        FILE_NAME,
        "onnx",
        "The stored blocks are there once, as initializers that several nodes read. "
        "`tokens[batch, time]` in, `logits[batch, time, vocabulary]` out; there is no key-value cache.",
        'onnxruntime.InferenceSession("model.onnx").run(None, {"tokens": tokens})',
    ),
)
FORMATS = {form.name: form for form in _ALL}
