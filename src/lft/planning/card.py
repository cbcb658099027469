"""One plan as a page: the schedule as a picture, and every cost."""

import shutil
from typing import Any, TextIO

from lft.config import PlanConfig
from lft.planning.picture import draw
from lft.planning.plan import Plan
from lft.runs import token_label


def print_card(config: PlanConfig, plan: Plan, row: dict[str, Any], file: TextIO) -> None:
    """Print a plan.

    Args:
        config: The request.
        plan: Its plan.
        row: The same as plain values.
        file: Where to print.
    """
    budget = token_label(config.budget.tokens)
    print(f"{plan.label}, scale {config.scale.name}, budget {budget}, seed {config.seed}", file=file)
    print(row["run_id"], end="\n\n", file=file)
    print(*draw(plan.schedule, shutil.get_terminal_size().columns), sep="\n", end="\n\n", file=file)
    facts = {**_model_facts(plan, row), **_cost_facts(plan), "time": hours(config, row["hours"])}
    width = max(map(len, facts))
    for name, fact in facts.items():
        print(f"{name:<{width}}  {fact}", file=file)
    for remark in plan.remarks():
        print(remark, file=file)


def hours(config: PlanConfig, value: float) -> str:
    """A time with the assumption behind it."""
    rate = f"{config.device_flops / 1e12:g} TFLOP/s used to {config.mfu:.0%}"
    return f"{short_hours(value)} hours on a device of {rate} (peak_flops, mfu)"


def short_hours(value: float) -> str:
    """Hours in three figures, as far as anyone cares."""
    return f"{value:.3g}" if value >= 0.001 else "<0.001"


def _model_facts(plan: Plan, row: dict[str, Any]) -> dict[str, str]:
    costs, shape = plan.costs, plan.shape
    embedding = costs.embedding_parameters / costs.parameters
    return {
        "schedule": " ".join(map(str, row["schedule"])),
        "visit map": " ".join(map(str, row["visit_map"])),
        "blocks": f"{row['num_blocks']} stored, {row['num_steps']} executed: "
        f"{plan.steps_ratio:.2f} x the steps of standard",
        "model": f"d_model {shape.d_model}, {shape.num_heads} heads of {shape.head_size} "
        f"({shape.num_kv_heads} for keys), d_ff {shape.d_ff}, context {shape.context_length}",
        "parameters": f"{costs.parameters:,}: embedding {costs.embedding_parameters:,} ({embedding:.0%}), "
        f"the rest {row['non_embedding_parameters']:,}",
    }


def _cost_facts(plan: Plan) -> dict[str, str]:
    costs, parts = plan.costs, plan.training_flops_by_part
    forward, context = costs.forward_flops_per_token, plan.shape.context_length
    return {
        "forward FLOPs": f"{forward:,} per token: "
        f"projections {costs.projection_flops_per_token / forward:.1%}, "
        f"attention {costs.attention_flops_per_token / forward:.1%}, "
        f"head {costs.head_flops_per_token / forward:.1%}",
        "training FLOPs": f"{costs.training_flops_per_token:,} per token: {plan.flop_ratio:.3f} x standard",
        "over the run": f"{plan.training_flops:.4g}: "
        + ", ".join(f"{part} {flops:.3g}" for part, flops in parts.items())
        + f"; {plan.total_ratio:.3f} x standard over the budget",
        "training": f"{plan.tokens:,} tokens in {plan.steps:,} optimizer steps of {plan.tokens_per_step:,}",
        "KV cache": f"{costs.kv_bytes_per_token:,} bytes per token of context in bfloat16, "
        f"{_mebibytes(costs.kv_bytes_per_token * context)} at {context}",
        "activations": f"about {_mebibytes(plan.activation_bytes)} for a micro-batch in float32, "
        "uncompiled; half in bfloat16",
        "checkpoints": f"{_mebibytes(plan.checkpoint_bytes)}: {len(plan.milestones)} milestones of "
        f"{_mebibytes(costs.weights_bytes)}, and {_mebibytes(costs.resumable_bytes)} to resume from",
    }


def _mebibytes(size: float) -> str:
    return f"{size / 2**20:,.1f} MiB"
