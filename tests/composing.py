"""Composes configs as the entry points do, without starting them."""

from pathlib import Path

from hydra import compose, initialize_config_dir

from lft.command_line import prepare_hydra
from lft.config import PrepareConfig, TrainConfig, to_dataclass

ROOT = Path(__file__).parents[1]


def compose_train(*overrides: str) -> TrainConfig:
    return _compose("train", overrides)


def compose_prepare(*overrides: str) -> PrepareConfig:
    return _compose("prepare", overrides)


def _compose(name, overrides):
    prepare_hydra()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return to_dataclass(compose(name, list(overrides)))
