"""Our model, as it trains, beside Hugging Face's Llama of the same shape in eager mode."""

from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM

from lft.benchmarking.ratio import Ratio
from lft.benchmarking.turns import WARMUP_TURNS, timed
from lft.config import TrainConfig
from lft.export import stock_settings
from lft.model import Transformer, initialize
from lft.planning import make_plan
from lft.training.hardware import chosen_device, resolve_compile, resolve_precision
from lft.training.optimizer import build_optimizer


def measure_model_speed(config: TrainConfig) -> Ratio:
    """Time forward, backward and optimizer step of both models in turn, on one batch.

    Both use the same batch, threads, autocast and AdamW; the number of turns is the number of
    optimizer steps in the budget.
    """
    plan = make_plan(config)
    device = chosen_device(config.trainer["accelerator"])
    model = Transformer(plan.shape, plan.schedule)
    initialize(model, config.seed)
    llama = LlamaForCausalLM(LlamaConfig(**stock_settings(plan.shape, plan.shape.num_blocks)))
    if resolve_compile(config.compile, device):
        model.compile_in_place()
    mixed = resolve_precision(config.precision, device) == "bf16-mixed"
    rows = min(plan.batch_sequences, plan.micro_batch_sequences)
    tokens = torch.randint(plan.shape.vocab_size, (rows, plan.shape.context_length + 1), device=device)
    inputs, targets = tokens[:, :-1], tokens[:, 1:]

    def llama_loss() -> Tensor:
        # It shifts the labels itself.
        return llama(input_ids=inputs, labels=inputs).loss

    def stepper(network: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], float]:
        optimizer, _ = build_optimizer(
            network.to(device), config.optimizer, config.sharing, plan.steps, plan.warmup_steps
        )
        autocast = torch.autocast(device.type, torch.bfloat16) if mixed else nullcontext()

        def step() -> None:
            with autocast:
                value = loss()
            value.backward()
            optimizer.step()
            optimizer.zero_grad()
            value.item()

        return lambda: timed(step)

    ours, theirs = stepper(model, lambda: model.loss(inputs, targets)), stepper(llama, llama_loss)
    turns = [(ours(), theirs()) for _ in range(WARMUP_TURNS + plan.steps)][WARMUP_TURNS:]
    return Ratio.of_turns("speed beside eager LlamaForCausalLM", turns)
