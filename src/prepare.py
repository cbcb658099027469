"""Prepare text ahead of training: python src/prepare.py data=fineweb_edu."""

from pathlib import Path

import hydra

from lft.command_line import job, prepare_hydra, run
from lft.config import PrepareConfig
from lft.data import prepare

prepare_hydra()


@hydra.main(version_base="1.3", config_path="../conf", config_name="prepare")
@job
def main(config: PrepareConfig) -> None:
    """Train the tokenizer and write the token shards, or find them already there."""
    data = prepare(config.data, Path(config.paths.prepared))
    print(f"{data.folder}: {len(data.train):,} training and {len(data.validation):,} validation tokens")


if __name__ == "__main__":
    run(main)
