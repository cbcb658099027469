"""Shared by all tests: tensor shapes are checked at run time, and nothing reaches for an account."""

import os

from jaxtyping import install_import_hook

os.environ["WANDB_MODE"] = "offline"
os.environ["WANDB_SILENT"] = "true"
# Two workers on two cores: more threads than that only get in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")

install_import_hook(
    ["lft.model", "lft.diagnostics", "lft.inference", "lft.training.language_model"], "beartype.beartype"
)
