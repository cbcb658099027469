"""Trains a compiled model with and without diagnostics; fails where weights or graphs differ."""

import sys
import tempfile
from pathlib import Path

import torch
from torch._dynamo.utils import counters

sys.path.insert(0, str(Path(__file__).parents[1]))
from composing import compose_train

from lft.training import train

SMALL = (
    "scale=nano scale.num_blocks=3 scale.d_model=16 scale.num_heads=2 scale.d_ff=24 experiment=smoke "
    "budget.tokens=1280 compile=true logger=none callbacks=none data.vocab_size=300"
).split()

with tempfile.TemporaryDirectory() as scratch:
    outcomes = []
    for name, diagnostics in (("plain", "none"), ("measured", "default")):
        counters.clear()
        extra = [f"diagnostics={diagnostics}", f"paths.runs={scratch}/{name}", f"paths.prepared={scratch}/p"]
        if name == "measured":
            extra.append("diagnostics.every_tokens=256")
        folder = train(compose_train(*SMALL, *extra))
        state = torch.load(folder.last_checkpoint, weights_only=True)["state_dict"]
        outcomes.append((state, counters["stats"]["unique_graphs"]))

(plain, plain_graphs), (measured, measured_graphs) = outcomes
assert plain_graphs == measured_graphs > 0, (plain_graphs, measured_graphs)
for key, weight in plain.items():
    assert torch.equal(weight, measured[key]), key
