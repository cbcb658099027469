"""Train one run, or with -m a sweep: python src/train.py -m routing=lft,standard seed=0,1,2."""

import hydra

from lft.command_line import job, prepare_hydra, run
from lft.config import TrainConfig
from lft.planning import make_plan

prepare_hydra()


@hydra.main(version_base="1.3", config_path="../conf", config_name="train")
@job
def main(config: TrainConfig) -> None:
    """Train as the config says."""
    # A wrong request is answered before torch and Lightning are loaded.
    make_plan(config)
    from lft.training import train

    train(config)


if __name__ == "__main__":
    run(main)
