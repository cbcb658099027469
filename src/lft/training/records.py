"""What a run writes about itself: `run.json` at the start, `summary.json` at the end."""

from collections.abc import Mapping
from typing import Any

import lightning
import torch

from lft.config import TrainConfig
from lft.data import PreparedData
from lft.planning import Plan
from lft.runs import VALIDATION, provenance
from lft.training.language_model import LanguageModel
from lft.training.validation import ValidationResult


def run_record(
    plan: Plan, data: PreparedData, epochs: float, trainer: lightning.Trainer, peak_flops: float
) -> dict[str, Any]:
    """The plan, the data it is fed, and where it executes: `peak_flops` is the rate behind `perf/mfu`."""
    device = trainer.strategy.root_device
    return {
        **plan.record(),
        "data": {
            "name": data.folder.name,
            "fingerprint": data.fingerprint,
            "tokenizer_sha256": data.tokenizer_sha256,
            "source": data.manifest["source"],
            "train_tokens": len(data.train),
            "validation_tokens": len(data.validation),
            "epochs": epochs,
        },
        "execution": {
            "precision": str(trainer.precision),
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
            "devices": trainer.world_size,
            "threads": torch.get_num_threads(),
            "accumulation_steps": trainer.accumulate_grad_batches,
            "peak_flops_per_device": peak_flops,
        },
        **provenance(),
    }


def run_summary(
    config: TrainConfig,
    plan: Plan,
    module: LanguageModel,
    result: ValidationResult,
    tokens_per_second: float | None,
    peak_memory_bytes: int,
) -> dict[str, Any]:
    """The outcome of a finished run."""
    assert module.tokens_seen == plan.tokens, "tokens seen differ from tokens planned"
    return {
        "routing": config.routing.name,
        "scale": config.scale.name,
        "budget_tokens": config.budget.tokens,
        "seed": config.seed,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "num_blocks": plan.schedule.num_blocks,
        "num_steps": plan.schedule.num_steps,
        "visit_map": plan.schedule.visit_map,
        "train_tokens": module.tokens_seen,
        "val_loss": result.loss,
        "val_bits_per_byte": result.bits_per_byte,
        "train_flops": plan.training_flops,
        "seconds": module.train_seconds,
        "joules": module.train_joules,
        "tokens_per_second": tokens_per_second,
        "peak_memory_bytes": peak_memory_bytes,
    }


def validation_record(run: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """How the sequences that a run validates on were asked, as evaluations describe it.

    Args:
        run: The run's id.
        record: Its `run.json`.
    """
    identity = {
        "task": VALIDATION,
        "data": record["data"]["fingerprint"],
        "tokenizer_sha256": record["data"]["tokenizer_sha256"],
        "precision": record["execution"]["precision"],
    }
    return {"identity": identity, "run": run, "device": record["execution"]["device"], "git": record["git"]}
