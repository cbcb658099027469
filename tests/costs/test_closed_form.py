"""Parameters and FLOPs in closed form, against a built model and PyTorch's own counter."""

from dataclasses import replace

import pytest
import torch
from composing import ROOT, compose_train
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from lft.costs import ModelShape, count_costs
from lft.errors import RequestError
from lft.model import Transformer
from lft.planning import make_arm
from lft.routing import ROUTINGS, make_schedule

SHAPES = {
    "2_5m": ModelShape(3072, 5, 192, 3, 3, 416, 768),
    "10m": ModelShape(3072, 8, 320, 5, 5, 768, 768),
    "25m": ModelShape(3072, 12, 384, 6, 6, 1216, 768),
    "grouped": ModelShape(512, 3, 64, 4, 2, 96, 32, qk_norm=True),
}


def counted(shape, schedule, gradient="all", backward=False):
    """FLOPs per token by PyTorch's counter, which sees every matrix product of a model without values."""
    with torch.device("meta"):
        model = Transformer(shape, schedule, gradient)
        tokens = torch.zeros(1, shape.context_length, dtype=torch.long)
    # Attention as plain matrix products: the fused kernel computes the weights a second time on the way back,
    # which the counter counts, so that its backward pass is 2.5 forward passes of attention instead of 2.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        logits = model(tokens)
        if backward:
            logits.sum().backward()
    total, rest = divmod(counter.get_total_flops(), shape.context_length)
    assert rest == 0
    return total


@pytest.mark.slow
@pytest.mark.parametrize("routing", sorted(ROUTINGS))
@pytest.mark.parametrize("scale", [file.stem for file in sorted((ROOT / "conf/scale").glob("*.yaml"))])
def test_forward_and_training_flops_equal_the_flop_counter(scale, routing):
    options = ["routing.order=[2,1,3,1,4,5]", "scale.num_blocks=5"] if routing == "explicit" else []
    arm = make_arm(compose_train(f"routing={routing}", f"scale={scale}", *options))
    assert counted(arm.shape, arm.schedule) == arm.costs.forward_flops_per_token
    assert counted(arm.shape, arm.schedule, backward=True) == arm.costs.training_flops_per_token


@pytest.mark.parametrize("gradient", ["first", "last"])
@pytest.mark.parametrize("name", ["2_5m", "grouped"])
def test_detached_visits_save_the_gradients_of_their_weights(name, gradient):
    shape = SHAPES[name]
    schedule = make_schedule("lft", shape.num_blocks)
    detached = schedule.num_steps - schedule.num_blocks
    costs = count_costs(shape, schedule.num_steps, detached)
    assert counted(shape, schedule, gradient, backward=True) == costs.training_flops_per_token


@pytest.mark.parametrize("name", SHAPES)
def test_the_parts_of_a_forward_pass_are_its_whole(name):
    costs = count_costs(SHAPES[name], 7)
    parts = costs.projection_flops_per_token + costs.attention_flops_per_token + costs.head_flops_per_token
    assert parts == costs.forward_flops_per_token


def test_fused_attention_on_the_way_back_counts_two_and_a_half_times():
    query = torch.zeros(1, 2, 64, 16, requires_grad=True)
    totals = []
    for backward in (False, True):
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION), FlopCounterMode(display=False) as counter:
            mixed = functional.scaled_dot_product_attention(query, query, query, is_causal=True)
            if backward:
                mixed.sum().backward()
        totals.append(counter.get_total_flops())
    assert totals[1] == 3.5 * totals[0]


@pytest.mark.parametrize("gradient", ["all", "last"])
@pytest.mark.parametrize("conditioning", ["none", "scale", "norm"])
@pytest.mark.parametrize("name", SHAPES)
def test_activations_are_what_autograd_keeps(name, conditioning, gradient):
    schedule = make_schedule("lft", SHAPES[name].num_blocks)
    shape = replace(
        SHAPES[name], context_length=64, conditioning=conditioning, conditioning_steps=schedule.num_steps
    )
    model = Transformer(shape, schedule, gradient)
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if tensor.is_floating_point() and storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage
        return tensor

    tokens = torch.zeros(2, shape.context_length, dtype=torch.long)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = model.head_loss(model.hidden(tokens), tokens)
    measured = sum(storage.nbytes() for storage in kept.values()) / tokens.numel()
    costs = count_costs(shape, schedule.num_steps, len(schedule.detached(gradient)))
    assert measured == pytest.approx(costs.activation_bytes_per_token, rel=0.01)
    assert loss.requires_grad


@pytest.mark.parametrize("conditioning", ["scale", "norm"])
def test_visit_conditioning_is_counted(conditioning):
    schedule = make_schedule("lft", 5)
    shape = replace(SHAPES["2_5m"], conditioning=conditioning, conditioning_steps=schedule.num_steps)
    with torch.device("meta"):
        model = Transformer(shape, schedule)
    parameters = count_costs(shape, schedule.num_steps).parameters
    assert parameters == sum(parameter.numel() for parameter in model.parameters())
    assert (
        parameters - count_costs(SHAPES["2_5m"], 11).parameters == {"scale": 2112, "norm": 4224}[conditioning]
    )


@pytest.mark.parametrize("name", SHAPES)
def test_parameters_equal_the_built_model(name):
    shape = SHAPES[name]
    with torch.device("meta"):
        model = Transformer(shape, make_schedule("lft", shape.num_blocks))
    costs = count_costs(shape, 1)
    assert costs.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert costs.embedding_parameters == model.embedding.weight.numel()


@pytest.mark.parametrize(
    ("name", "parameters", "standard", "lft"),
    [
        ("2_5m", 2_527_296, 7_999_488, 16_183_296),
        ("10m", 10_163_520, 28_180_480, 67_502_080),
        ("25m", 25_077_120, 64_290_816, 167_510_016),
    ],
)
def test_costs_equal_those_of_a_llama_of_the_same_shape(name, parameters, standard, lft):
    shape = SHAPES[name]
    assert count_costs(shape, shape.num_blocks).parameters == parameters
    assert count_costs(shape, shape.num_blocks).forward_flops_per_token == standard
    assert count_costs(shape, 3 * shape.num_blocks - 4).forward_flops_per_token == lft


def test_the_cache_holds_a_slot_per_step():
    shape = SHAPES["grouped"]
    # 7 steps, a key and a value, 2 heads of 16 values, 2 bytes each
    assert count_costs(shape, 7).kv_bytes_per_token == 7 * 2 * 32 * 2


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"num_heads": 5}, "scale.num_heads=5 does not divide scale.d_model=64"),
        ({"num_kv_heads": 3}, "scale.num_kv_heads=3 does not divide scale.num_heads=4"),
        ({"d_ff": 0}, "scale.d_ff=0 must be 1 or more"),
        ({"num_heads": 64, "num_kv_heads": 64}, "the head size 1 is odd"),
    ],
)
def test_impossible_shapes_say_what_to_change(change, complaint):
    sizes = {"vocab_size": 8, "num_blocks": 1, "d_model": 64, "num_heads": 4, "num_kv_heads": 4}
    with pytest.raises(RequestError, match=complaint):
        ModelShape(**{**sizes, "d_ff": 8, "context_length": 8, **change})
