"""Run folders as training leaves them, with numbers of one's own."""

import json
import math
from pathlib import Path
from typing import Any

from lft.runs import RunFolder, VisitsFile, run_id

SCHEDULES = {
    "standard": [1, 2, 3, 4, 5],
    "lft": [1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5],
    "loop": [1, 2, 3, 4, 2, 3, 4, 2, 3, 4, 5],
    "mirror": [1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5],
    "deep": list(range(1, 12)),
}
FLOPS_PER_TOKEN = {name: 5_000_000 if name == "standard" else 10_000_000 for name in SCHEDULES}
RATIOS = {name: 1.0 if name == "standard" else 2.0 for name in SCHEDULES}
TOKENS_PER_STEP = 1000


def make_config(routing: str = "lft", seed: int = 0, **overrides: Any) -> dict[str, Any]:
    """A resolved config; overrides are dotted keys with `__` for the dot."""
    config: dict[str, Any] = {
        "routing": {"name": routing, "revisits": 1} if routing == "lft" else {"name": routing},
        "scale": {"name": "nano", "num_blocks": 5, "d_model": 96},
        "budget": {"tokens": 100_000, "milestones": 5},
        "data": {"name": "sample", "loader_workers": 1},
        "optimizer": {"learning_rate": 0.003},
        "seed": seed,
        "paths": {"runs": "runs"},
        "logger": {},
    }
    for key, value in overrides.items():
        group, _, name = key.partition("__")
        if name:
            config[group][name] = value
        else:
            config[group] = value
    return config


def make_record(config: dict[str, Any]) -> dict[str, Any]:
    """What `run.json` holds."""
    name = config["routing"]["name"]
    schedule = SCHEDULES[name]
    return {
        "arm": name,
        "schedule": schedule,
        "num_blocks": 5,
        "num_steps": len(schedule),
        "costs": {
            "parameters": 850_000,
            "embedding_parameters": 300_000,
            "forward_flops_per_token": FLOPS_PER_TOKEN[name] // 3,
            "training_flops_per_token": FLOPS_PER_TOKEN[name],
            "kv_bytes_per_token": 1,
            "total_flop_ratio_to_standard": RATIOS[name],
            "steps_ratio_to_standard": len(schedule) / 5,
        },
        "plan": {
            "steps": config["budget"]["tokens"] // TOKENS_PER_STEP,
            "tokens": config["budget"]["tokens"],
        },
        "data": {"fingerprint": "abc"},
    }


def start_run(runs: Path, config: dict[str, Any], **record: Any) -> RunFolder:
    """A run folder that has just begun."""
    folder = RunFolder(runs / run_id(config))
    folder.create(config, {**make_record(config), **record})
    return folder


def log_row(folder: RunFolder, step: int, **metrics: float) -> None:
    """Append a row; metric names have `__` for the slash."""
    named = {name.replace("__", "/"): value for name, value in metrics.items()}
    tokens = step * TOKENS_PER_STEP
    flops = tokens * folder.read("run.json")["costs"]["training_flops_per_token"]
    row = {"step": step, "tokens": tokens, "train/tokens": tokens, "train/flops": flops, **named}
    with (folder.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def log_curve(folder: RunFolder, final_loss: float, last: int, wobble: float = 0.0) -> None:
    """Log every second step up to `last` and validate at every twentieth; the loss ends at `final_loss`."""
    for step in range(2, last + 1, 2):
        loss = final_loss + 3.0 * (math.exp(-step / 15) - math.exp(-last / 15))
        row = {"train__loss": loss + wobble * math.sin(step * 1.7), "perf__tokens_per_second": 5000.0}
        if step % 20 == 0:
            row |= {"val__loss": loss, "val__bits_per_byte": loss / 3}
        log_row(folder, step, perf__seconds=step / 5, **row)


def finish(folder: RunFolder, config: dict[str, Any], val_loss: float) -> None:
    """Mark a run done."""
    record = make_record(config)
    tokens = record["plan"]["tokens"]
    folder.mark_done(
        {
            "routing": config["routing"]["name"],
            "train_tokens": tokens,
            "val_loss": val_loss,
            "val_bits_per_byte": val_loss / 3,
            "train_flops": tokens * record["costs"]["training_flops_per_token"],
            "seconds": 20.0,
            "tokens_per_second": 5000.0,
            "peak_memory_bytes": 10**9,
        }
    )


def make_run(runs: Path, routing: str, seed: int, val_loss: float, **overrides: Any) -> RunFolder:
    """A finished run with its curve."""
    config = make_config(routing, seed, **overrides)
    folder = start_run(runs, config)
    log_curve(folder, val_loss, config["budget"]["tokens"] // TOKENS_PER_STEP, wobble=0.05)
    finish(folder, config, val_loss)
    return folder


def add_visits(
    folder: RunFolder, moments: tuple[int, ...] = (0, 50_000, 100_000), shift: float = 0.0
) -> None:
    """Readings of a run along its schedule; `shift` tells seeds apart."""
    order = folder.read("run.json")["schedule"]
    file = VisitsFile(folder.visits)
    for number, tokens in enumerate(moments):
        rows: list[tuple[int | None, int | None, int | None, str, str, float]] = []
        rows.append((None, None, 0, "block", "readout_loss", 8.0))
        for place, block in enumerate(order, start=1):
            visit = order[:place].count(block)
            share = 1.0 if order.count(block) == 1 else 0.1 * visit + 0.01 * number + shift
            rows.append((block, visit, place, "block", "gradient_share", share))
            rows.append((block, visit, place, "block", "adamw_share", share / 2))
            rows.append((block, visit, place, "block", "update_ratio", 0.1 * place))
            rows.append((block, visit, place, "block", "readout_loss", 8.0 - 0.1 * place - number))
            for later in range(visit + 1, order.count(block) + 1):
                cosine = 0.5 - 0.1 * later + shift
                rows.append((block, visit, place, "block", f"gradient_cosine_v{later}", cosine))
            if number:
                rows.append((block, visit, place, "block", "skip_difference", 0.2 / place + shift))
                rows.append((block, visit, place, "block", "skip_difference_error", 0.03))
        if number:
            for route in ("standard", "revisits=2"):
                rows.append((None, None, None, route, "route_difference", 0.5 + shift))
                rows.append((None, None, None, route, "route_difference_error", 0.07))
        names = ("block", "visit", "step", "part", "statistic", "value")
        file.add(tokens, [dict(zip(names, row, strict=True)) for row in rows])
