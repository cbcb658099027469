"""Compares gradients of compiled and eager models under every training condition; fails where they differ."""

import torch

from lft.costs import ModelShape
from lft.model import Transformer, initialize
from lft.routing import make_schedule

SCHEDULE = make_schedule("lft", 4)
TOKENS = torch.arange(2 * 25).view(2, 25) % 61

for conditioning, gradient in (("none", "all"), ("none", "last"), ("scale", "first"), ("norm", "all")):
    shape = ModelShape(
        61, 4, 32, 4, 4, 48, 24, conditioning=conditioning, conditioning_steps=SCHEDULE.num_steps
    )
    models = [Transformer(shape, SCHEDULE, gradient) for _ in range(2)]
    models[1].compile_in_place()
    for model in models:
        initialize(model, 0)
        model.loss(TOKENS[:, :-1], TOKENS[:, 1:]).backward()
    for eager, compiled in zip(*(model.parameters() for model in models), strict=True):
        torch.testing.assert_close(compiled.grad, eager.grad, rtol=1e-3, atol=1e-6)
