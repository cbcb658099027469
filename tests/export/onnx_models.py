"""Compares ONNX files with the models they were written from, in size and in what they compute."""

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from twins import TINY, build, random_tokens

from lft.export.onnx import FILE_NAME, OnnxModel, write_onnx
from lft.inference import Sampler, TrainedModel, decode
from lft.runs import RunFolder

# The exporter transposes matrices of a few kilobytes beforehand, once for every use.
SHAPE = replace(TINY, vocab_size=300, d_model=128, d_ff=192)
CASES = [
    ("lft", SHAPE),
    ("loop", replace(SHAPE, qk_norm=True, num_kv_heads=2)),
    ("lft", replace(SHAPE, conditioning="scale", conditioning_steps=8)),
]


def check_stored(folder, model):
    graph = onnx.load(folder / FILE_NAME).graph
    stored = sum(int(np.prod(tensor.dims)) for tensor in graph.initializer if len(tensor.dims) > 1)
    matrices = sum(parameter.numel() for parameter in model.parameters() if parameter.dim() > 1)
    rotary_tables = 2 * model.shape.context_length * model.shape.head_size
    assert matrices <= stored <= matrices + rotary_tables, (matrices, stored)


def check_computed(loaded, model):
    for batch, time in ((1, 1), (2, model.shape.context_length), (5, 7)):
        tokens = random_tokens(model.shape, batch)[:, :time]
        with torch.no_grad():
            difference = torch.from_numpy(loaded.logits(tokens.numpy())) - model(tokens)
        assert difference.abs().max() < 1e-3
    prompt = random_tokens(model.shape, 1)[:, :5]
    chosen = [token for (token,) in decode(model, prompt.tolist(), 9, Sampler(temperature=0.0))]
    assert loaded.generate(prompt.numpy(), 9)[0, 5:].tolist() == chosen


for routing, shape in CASES:
    with TemporaryDirectory() as name:
        folder, model = Path(name), build(routing, shape).eval()
        write_onnx(TrainedModel(RunFolder(folder), folder, model, tokenizer=None), folder)
        check_stored(folder, model)
        check_computed(OnnxModel(folder), model)
