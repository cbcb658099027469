"""Tiny models and their Hugging Face twins, for the tests of the model."""

from dataclasses import replace

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from lft.costs import ModelShape
from lft.model import Transformer, initialize
from lft.routing import make_schedule

TINY = ModelShape(
    vocab_size=61, num_blocks=4, d_model=32, num_heads=4, num_kv_heads=4, d_ff=48, context_length=24
)


def build(routing="lft", shape=TINY, seed=0, dtype=torch.float32, gradient="all", **options) -> Transformer:
    schedule = make_schedule(routing, shape.num_blocks, **options)
    model = Transformer(replace(shape, num_blocks=schedule.num_blocks), schedule, gradient)
    initialize(model, seed)
    # Larger weights than at initialization, so that attention is not nearly uniform.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0 if parameter.dim() > 1 else 1.0)
    return model.to(dtype)


def random_tokens(shape=TINY, batch=2, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(shape.vocab_size, (batch, shape.context_length), generator=generator)


def unrolled(model: Transformer) -> Transformer:
    """A standard model with a block of its own for every step, each a copy of the step's block."""
    steps = model.schedule.steps
    copies = build(
        "standard", replace(model.shape, num_blocks=len(steps)), dtype=model.embedding.weight.dtype
    )
    copies.embedding.load_state_dict(model.embedding.state_dict())
    copies.final_norm.load_state_dict(model.final_norm.state_dict())
    for copy, step in zip(copies.blocks, steps, strict=True):
        copy.load_state_dict(model.blocks[step.block].state_dict())
    return copies


def unrolled_llama(model: Transformer):
    """A Hugging Face model with a layer of its own for every step, holding copies of the block's weights."""
    shape = model.shape
    classes = (Qwen3Config, Qwen3ForCausalLM) if shape.qk_norm else (LlamaConfig, LlamaForCausalLM)
    config = classes[0](
        vocab_size=shape.vocab_size,
        hidden_size=shape.d_model,
        intermediate_size=shape.d_ff,
        num_hidden_layers=model.schedule.num_steps,
        num_attention_heads=shape.num_heads,
        num_key_value_heads=shape.num_kv_heads,
        head_dim=shape.head_size,
        max_position_embeddings=shape.context_length,
        rms_norm_eps=shape.norm_epsilon,
        rope_theta=shape.rope_theta,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
    )
    llama = classes[1](config).to(model.embedding.weight.dtype).eval()
    with torch.no_grad():
        llama.model.embed_tokens.weight.copy_(model.embedding.weight)
        llama.model.norm.weight.copy_(model.final_norm.weight)
        for layer, step in zip(llama.model.layers, model.schedule.steps, strict=True):
            for target, source in zip(layer_weights(layer), block_weights(model, step.block), strict=True):
                target.copy_(source)
    return llama


def layer_weights(layer) -> list[torch.Tensor]:
    """The weights of a Hugging Face layer, in the order of `block_weights`."""
    attention, mlp = layer.self_attn, layer.mlp
    projections = (attention.q_proj, attention.k_proj, attention.v_proj, attention.o_proj)
    modules = (*projections, mlp.gate_proj, mlp.up_proj, mlp.down_proj)
    norms = [layer.input_layernorm, layer.post_attention_layernorm]
    if hasattr(attention, "q_norm"):
        norms += [attention.q_norm, attention.k_norm]
    return [module.weight for module in (*modules, *norms)]


def block_weights(model: Transformer, index: int) -> list[torch.Tensor]:
    """The weights of a block cut up as a Hugging Face layer stores them."""
    block, shape = model.blocks[index], model.shape
    attention, mlp = block.attention, block.mlp
    query, key, value = attention.query_key_value.weight.split((shape.d_model, shape.kv_size, shape.kv_size))
    gate, up = mlp.gate_up.weight.chunk(2)
    weights = [query, key, value, attention.output.weight, gate, up, mlp.output.weight]
    norms = [block.attention_norm, block.mlp_norm]
    if shape.qk_norm:
        norms += [attention.query_norm, attention.key_norm]
    return weights + [norm.weight for norm in norms]
