"""The training loop with data, logging and callbacks, beside a bare forward-backward-step loop."""

import lightning

from lft.benchmarking.ratio import Ratio
from lft.benchmarking.turns import LoopTurns, bare_step
from lft.config import TrainConfig
from lft.training import LanguageModel, train


def measure_loop_overhead(config: TrainConfig) -> Ratio:
    """Train for real, and after every optimizer step take a bare one with the same model and optimizer."""
    turns = BareSteps()
    train(config, extra_callbacks=[turns])
    return Ratio("training loop's share of bare speed", turns.loop_seconds, turns.other_seconds)


class BareSteps(LoopTurns):
    """Takes a bare step after each step of the loop."""

    def take_turn(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """Repeat the step on its batch."""
        bare_step(trainer, module, self.batch)
