"""Trained models in use: read from a run folder, and decoded from."""

from lft.inference.decoding import decode
from lft.inference.sampling import Sampler
from lft.inference.text import continue_text
from lft.inference.trained_model import (
    TrainedModel,
    checkpoint_sha256,
    choose_milestones,
    load_trained,
    milestones,
)

__all__ = [
    "Sampler",
    "TrainedModel",
    "checkpoint_sha256",
    "choose_milestones",
    "continue_text",
    "decode",
    "load_trained",
    "milestones",
]
