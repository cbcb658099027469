"""Builds the Lightning objects that a config describes by `_target_`."""

import logging
import warnings
from typing import Any

import lightning
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import Logger

from lft.config import TrainConfig
from lft.errors import RequestError
from lft.planning import Plan
from lft.runs import RunFolder, token_label
from lft.training.hardware import chosen_device, resolve_precision

# What the budget, the optimizer and the data decide; a second word on it would change results unseen.
OWNED_KEYS = frozenset(
    "max_steps max_epochs max_time min_steps min_epochs precision logger callbacks accumulate_grad_batches "
    "gradient_clip_val gradient_clip_algorithm limit_train_batches limit_val_batches overfit_batches "
    "fast_dev_run default_root_dir enable_checkpointing use_distributed_sampler".split()
)


def build_trainer(
    config: TrainConfig, plan: Plan, loggers: list[Logger], folder: RunFolder
) -> lightning.Trainer:
    """The trainer of a run: the config says where it executes, the plan for how long.

    Raises:
        RequestError: A key of `trainer` is unknown, or asks for what this machine has not.
    """
    _quiet_lightning()
    owned = sorted(OWNED_KEYS & set(config.trainer))
    if owned:
        raise RequestError(
            f"trainer.{owned[0]} is set by this program; use the keys of budget, optimizer and data"
        )
    device = chosen_device(config.trainer.get("accelerator", "auto"))
    trainer: lightning.Trainer = _instantiate(
        "trainer",
        {"_target_": "lightning.Trainer", **config.trainer},
        max_steps=plan.steps,
        max_epochs=-1,
        precision=resolve_precision(config.precision, device),
        logger=loggers,
        default_root_dir=folder.path,
        # Validation and checkpoints come at milestones in tokens, which Lightning does not count.
        limit_val_batches=0,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    trainer.accumulate_grad_batches = plan.accumulation_steps(trainer.world_size)
    return trainer


def build_loggers(
    config: TrainConfig, settings: dict[str, Any], plan: Plan, folder: RunFolder, wandb_id: str
) -> list[Logger]:
    """The loggers of the config, each told which run it shows."""
    group = f"{config.scale.name}-{token_label(config.budget.tokens)}"
    loggers = []
    for name, options in config.logger.items():
        options = {**options, "group": options.get("group") or group}
        loggers.append(
            _instantiate(
                f"logger.{name}",
                options,
                folder=folder.path,
                run_id=folder.name,
                wandb_id=wandb_id,
                # What charts group runs by.
                config={"arm": plan.label, "scale_name": config.scale.name, **settings},
            )
        )
    return loggers


def build_callbacks(config: TrainConfig) -> list[Callback]:
    """The callbacks of the config."""
    return [_instantiate(f"callbacks.{name}", options) for name, options in config.callbacks.items()]


def _instantiate(key: str, options: dict[str, Any], **arguments: Any) -> Any:
    try:
        # Partial, so that Hydra does not look for targets inside our arguments.
        maker = instantiate({**options, "_partial_": True, "_convert_": "all"})
        return maker(**arguments)
    except (InstantiationException, MisconfigurationException, TypeError) as error:
        raise RequestError(f"{key} cannot be used as given: {error.__cause__ or error}") from error


def _quiet_lightning() -> None:
    # Its tips and device banners would hide the few lines that matter in a sweep of many runs.
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
