"""Folders that `transformers` loads: the route unrolled into stock layers, or blocks with a schedule."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.utils.logging import disable_progress_bar

from lft.costs import ModelShape
from lft.data import END_OF_TEXT
from lft.errors import RequestError
from lft.export.modeling_lft import (
    LftConfig,
    LftForCausalLM,
    LftQkNormConfig,
    LftQkNormForCausalLM,
)
from lft.inference import TrainedModel
from lft.model import Transformer


def write_llama(trained: TrainedModel, folder: Path) -> None:
    """Write a stock model (Llama, or Qwen3 with QK-norm) that has a layer of its own for every step.

    Raises:
        RequestError: The model scales the updates of its steps, which no stock layer does.
    """
    model = trained.model
    if model.shape.conditioning == "scale":
        raise RequestError("format=llama has no place for sharing.visit_conditioning=scale; use format=lft")
    kinds: tuple[Any, Any] = (LlamaConfig, LlamaForCausalLM)
    if model.shape.qk_norm:
        kinds = (Qwen3Config, Qwen3ForCausalLM)
    stock = kinds[1](kinds[0](**_settings(trained)))
    _save(stock, model, folder)


def write_lft(trained: TrainedModel, folder: Path) -> None:
    """Write the stored blocks once, with the schedule and the small file that executes it."""
    shape = trained.model.shape
    kinds: tuple[Any, Any] = (LftConfig, LftForCausalLM)
    if shape.qk_norm:
        kinds = (LftQkNormConfig, LftQkNormForCausalLM)
    kinds[0].register_for_auto_class()
    kinds[1].register_for_auto_class("AutoModelForCausalLM")
    schedule = {"schedule": trained.model.schedule.block_order, "conditioning": shape.conditioning}
    _save(kinds[1](kinds[0](**_settings(trained), **schedule)), trained.model, folder)


def write_tokenizer(trained: TrainedModel, folder: Path) -> None:
    """Write the tokenizer so that it encodes as in training: nothing added, no text taken as a command."""
    from tokenizers import Tokenizer, processors

    tokenizer = Tokenizer.from_str(trained.tokenizer.to_str())
    # One of another's making may put tokens in front.
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_OF_TEXT,
        pad_token=END_OF_TEXT,
        model_max_length=trained.model.shape.context_length,
        split_special_tokens=True,
        clean_up_tokenization_spaces=False,
    ).save_pretrained(folder)


def stock_settings(shape: ModelShape, num_layers: int) -> dict[str, Any]:
    """A shape in the words of a stock model's configuration."""
    return {
        "vocab_size": shape.vocab_size,
        "hidden_size": shape.d_model,
        "intermediate_size": shape.d_ff,
        "num_hidden_layers": num_layers,
        "num_attention_heads": shape.num_heads,
        "num_key_value_heads": shape.num_kv_heads,
        "head_dim": shape.head_size,
        "max_position_embeddings": shape.context_length,
        "rms_norm_eps": shape.norm_epsilon,
        "rope_parameters": {"rope_type": "default", "rope_theta": shape.rope_theta},
        "tie_word_embeddings": True,
    }


def _settings(trained: TrainedModel) -> dict[str, Any]:
    end_token = trained.tokenizer.token_to_id(END_OF_TEXT)
    return {
        **stock_settings(trained.model.shape, trained.model.schedule.num_steps),
        # An empty prompt stands for the start of a document.
        "bos_token_id": end_token,
        "eos_token_id": end_token,
        "pad_token_id": None,
        "dtype": "float32",
    }


@torch.no_grad()
def _save(target: PreTrainedModel, model: Transformer, folder: Path) -> None:
    disable_progress_bar()
    target.load_state_dict(_unrolled_weights(model))
    target.generation_config = GenerationConfig(
        bos_token_id=target.config.bos_token_id,
        eos_token_id=target.config.eos_token_id,
        pad_token_id=target.config.eos_token_id,
    )
    target.save_pretrained(folder)


def _unrolled_weights(model: Transformer) -> dict[str, Tensor]:
    weights = {
        "model.embed_tokens.weight": model.embedding.weight,
        "lm_head.weight": model.embedding.weight,
        "model.norm.weight": model.final_norm.weight,
    }
    for number, step in enumerate(model.schedule.steps):
        layer = _layer_weights(model.blocks[step.block])
        gains = model.gains(step)
        if gains is not None:
            layer["input_layernorm.weight"] = layer["input_layernorm.weight"] * gains[0]
            layer["post_attention_layernorm.weight"] = layer["post_attention_layernorm.weight"] * gains[1]
        if model.shape.conditioning == "scale":
            layer["visit_scale"] = model.visit_factors[step.name]
        weights.update({f"model.layers.{number}.{name}": tensor for name, tensor in layer.items()})
    return weights


def _layer_weights(block: Any) -> dict[str, Tensor]:
    """A block's weights under the names of a Llama layer, its joined projections cut apart."""
    attention, mlp = block.attention, block.mlp
    heads = (attention.num_heads, attention.num_kv_heads, attention.num_kv_heads)
    sizes = [number * attention.head_size for number in heads]
    query, key, value = attention.query_key_value.weight.split(sizes)
    gate, up = mlp.gate_up.weight.chunk(2)
    weights = {
        "self_attn.q_proj.weight": query,
        "self_attn.k_proj.weight": key,
        "self_attn.v_proj.weight": value,
        "self_attn.o_proj.weight": attention.output.weight,
        "mlp.gate_proj.weight": gate,
        "mlp.up_proj.weight": up,
        "mlp.down_proj.weight": mlp.output.weight,
        "input_layernorm.weight": block.attention_norm.weight,
        "post_attention_layernorm.weight": block.mlp_norm.weight,
    }
    if isinstance(attention.query_norm, torch.nn.RMSNorm):
        weights["self_attn.q_norm.weight"] = attention.query_norm.weight
        weights["self_attn.k_norm.weight"] = attention.key_norm.weight
    return weights


class HuggingFaceModel:
    """A written folder, loaded again by `transformers`."""

    def __init__(self, folder: Path) -> None:
        disable_progress_bar()
        self.model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)

    def logits(self, tokens: np.ndarray) -> np.ndarray:
        """Logits `[batch, time, vocabulary]` of token ids `[batch, time]`."""
        with torch.inference_mode():
            return self.model(torch.from_numpy(tokens)).logits.numpy()

    def generate(self, tokens: np.ndarray, new_tokens: int) -> np.ndarray:
        """Token ids with so many more, the most likely ones."""
        prompt = torch.from_numpy(tokens)
        lengths = {"min_new_tokens": new_tokens, "max_new_tokens": new_tokens}
        mask = torch.ones_like(prompt)
        return self.model.generate(prompt, attention_mask=mask, do_sample=False, **lengths).numpy()
