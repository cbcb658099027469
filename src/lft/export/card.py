"""The card of an exported model: what it is, what it cost, what came out, what it is not good for."""

from typing import Any

from huggingface_hub import ModelCard, ModelCardData

from lft.analysis import score_text, scores_table
from lft.export.deployment import DeploymentFigures, deployment_facts
from lft.export.formats import Format
from lft.inference import TrainedModel
from lft.terminal import short


def model_card(trained: TrainedModel, form: Format, figures: DeploymentFigures) -> ModelCard:
    """The card as a Markdown file with the Hub's metadata in its head."""
    record, config = trained.folder.read("run.json"), trained.folder.read("config.json")
    data = ModelCardData(
        library_name=form.library, pipeline_tag="text-generation", tags=["layer-feedback-transformer"]
    )
    sections = {
        "Model": _model_facts(trained, record),
        "Training": _training_facts(record, config),
        "Results": _results(trained),
        "Deployment": deployment_facts(figures),
    }
    parts = [f"---\n{data.to_yaml()}\n---\n\n# {trained.folder.name}\n"]
    parts.append(f"{form.explanation}\n\n    {form.usage}\n")
    parts += [f"## {title}\n\n{_table(facts)}\n" for title, facts in sections.items()]
    parts.append(f"## Limits\n\n{_limits(trained)}\n")
    return ModelCard("\n".join(parts))


def _model_facts(trained: TrainedModel, record: dict[str, Any]) -> dict[str, Any]:
    schedule, costs = trained.model.schedule, record["costs"]
    return {
        "Arm": record["arm"],
        "Order of blocks": " ".join(map(str, schedule.block_order)),
        "Stored blocks, executed steps": f"{schedule.num_blocks}, {schedule.num_steps}",
        "Parameters": f"{costs['parameters']:,}",
        "Context": f"{trained.model.shape.context_length} tokens",
        "Forward FLOPs per token": short(costs["forward_flops_per_token"]),
        "Cache in bfloat16": f"{costs['kv_bytes_per_token']:,} bytes per token",
    }


def _training_facts(record: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    data, git = record["data"], record["git"]
    return {
        "Text": f"{data['source'].get('kind', data['name'])}, fingerprint `{data['fingerprint']}`",
        "Tokenizer": f"sha256 `{data['tokenizer_sha256']}`",
        "Tokens": f"{record['plan']['tokens']:,} (planned)",
        "Training FLOPs": short(record["costs"]["training_flops"]),
        "Seed": config["seed"],
        "Code": f"commit `{git['commit']}`{', with changes' if git['dirty'] else ''}",
    }


def _results(trained: TrainedModel) -> dict[str, Any]:
    facts: dict[str, Any] = {"Checkpoint after": f"{trained.tokens:,} tokens"}
    for row in trained.folder.read_metrics():
        if row["tokens"] != trained.tokens or "val/loss" not in row:
            continue
        facts["Validation loss"] = f"{row['val/loss']:.4f} nats per token"
        facts["Validation bits per byte"] = f"{row['val/bits_per_byte']:.4f}"
    scores = scores_table(trained.folder.path, every_checkpoint=True)
    whole = scores[(scores["tokens"] == trained.tokens) & (scores["kind"] == "")]
    return facts | {f"{row['task']} ({row['metric']})": score_text(row) for row in whole.to_dict("records")}


def _table(facts: dict[str, Any]) -> str:
    rows = [f"| {name} | {fact} |" for name, fact in facts.items()]
    return "\n".join(["| | |", "|---|---|", *rows])


def _limits(trained: TrainedModel) -> str:
    return (
        "A small model for comparing routes through its blocks. It is a plain language model, not tuned to "
        "follow instructions, and repeats what its training text says, wrong or not. It was trained at "
        f"{trained.model.shape.context_length} tokens of context; longer inputs are outside what it knows. "
        "The deployment figures are of one machine's processor."
    )
