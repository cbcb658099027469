"""Parameters, FLOPs and bytes in closed form.

FLOPs follow `torch.utils.flop_counter.FlopCounterMode`: a multiply-add is 2, attention is counted in
full although it is causal, element-wise work is not counted.
"""

from dataclasses import dataclass

from lft.costs.shape import ModelShape

BFLOAT16_BYTES = 2
FLOAT32_BYTES = 4
ADAMW_AVERAGES = 2


@dataclass(frozen=True)
class Costs:
    """What one model and schedule cost.

    Attributes:
        parameters: Stored weights, the tied embedding once.
        embedding_parameters: The part of `parameters` in the embedding.
        projection_flops_per_token: Forward, the matrix products of all steps with weights.
        attention_flops_per_token: Forward, queries with keys and weights with values, at full context.
        head_flops_per_token: Forward, the tied embedding as output head.
        forward_flops_per_token: One forward pass, the sum of the three.
        training_flops_per_token: Forward and backward: a backward pass is two forward passes, less the
            gradients of the weights at detached steps.
        kv_bytes_per_token: Key and value cache per token of context, one slot per step, in bfloat16.
        activation_bytes_per_token: What the backward pass needs of the forward pass, uncompiled, in float32.
        weights_bytes: A checkpoint of the weights alone, in float32.
        resumable_bytes: A checkpoint to resume from: weights and both averages of AdamW.
    """

    parameters: int
    embedding_parameters: int
    projection_flops_per_token: int
    attention_flops_per_token: int
    head_flops_per_token: int
    forward_flops_per_token: int
    training_flops_per_token: int
    kv_bytes_per_token: int
    activation_bytes_per_token: int
    weights_bytes: int
    resumable_bytes: int


def count_costs(shape: ModelShape, num_steps: int, detached_steps: int = 0) -> Costs:
    """Cost of a shape that executes `num_steps` blocks per forward pass.

    Args:
        shape: Sizes of the model.
        num_steps: Block executions E.
        detached_steps: How many of them give their block no gradient.
    """
    embedding = shape.vocab_size * shape.d_model
    projections = num_steps * _projection_flops(shape)
    attention = num_steps * _attention_flops(shape)
    head = 2 * embedding
    forward = projections + attention + head
    activations = num_steps * _step_activations(shape) + _head_activations(shape)
    activations -= detached_steps * _weight_activations(shape)
    parameters = embedding + shape.num_blocks * block_parameters(shape) + shape.d_model
    parameters += shape.conditioning_steps * shape.conditioning_parameters
    return Costs(
        parameters=parameters,
        embedding_parameters=embedding,
        projection_flops_per_token=projections,
        attention_flops_per_token=attention,
        head_flops_per_token=head,
        forward_flops_per_token=forward,
        training_flops_per_token=3 * forward - detached_steps * _projection_flops(shape),
        kv_bytes_per_token=num_steps * 2 * shape.kv_size * BFLOAT16_BYTES,
        activation_bytes_per_token=FLOAT32_BYTES * activations,
        weights_bytes=FLOAT32_BYTES * parameters,
        resumable_bytes=(1 + ADAMW_AVERAGES) * FLOAT32_BYTES * parameters,
    )


def block_parameters(shape: ModelShape) -> int:
    """Weights of one stored block."""
    qk_norm = 2 * shape.head_size if shape.qk_norm else 0
    return _projection_weights(shape) + qk_norm + 2 * shape.d_model


def _projection_weights(shape: ModelShape) -> int:
    attention = 2 * shape.d_model * shape.d_model + 2 * shape.d_model * shape.kv_size
    return attention + 3 * shape.d_model * shape.d_ff


def _projection_flops(shape: ModelShape) -> int:
    return 2 * _projection_weights(shape)


def _attention_flops(shape: ModelShape) -> int:
    return 4 * shape.context_length * shape.d_model


def _step_activations(shape: ModelShape) -> int:
    """Values that autograd keeps of one step, counted as it keeps them: a norm's input twice, views whole."""
    norms = 2 * (2 * shape.d_model + 1)
    attention = 4 * shape.d_model + 3 * shape.kv_size + shape.num_heads
    if shape.qk_norm:
        attention += 2 * shape.d_model + shape.kv_size + shape.num_heads + shape.num_kv_heads
    mlp = shape.d_model + 4 * shape.d_ff
    # A learned factor keeps what it multiplies, one value for each.
    return norms + attention + mlp + shape.conditioning_parameters


def _weight_activations(shape: ModelShape) -> int:
    """The part of a step's values that only the gradients of its weights need."""
    qk_norm = 2 * shape.d_model + shape.kv_size if shape.qk_norm else 0
    return 4 * shape.d_model + shape.d_ff + qk_norm


def _head_activations(shape: ModelShape) -> int:
    return 3 * shape.d_model + 1 + shape.vocab_size
