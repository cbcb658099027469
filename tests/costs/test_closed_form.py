"""Parameters and FLOPs in closed form, against a built model and PyTorch's own counter."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from lft.costs import ModelShape, count_costs
from lft.errors import RequestError
from lft.model import Transformer
from lft.routing import make_schedule

SHAPES = {
    "2_5m": ModelShape(3072, 5, 192, 3, 3, 416, 768),
    "10m": ModelShape(3072, 8, 320, 5, 5, 768, 768),
    "25m": ModelShape(3072, 12, 384, 6, 6, 1216, 768),
    "grouped": ModelShape(512, 3, 64, 4, 2, 96, 32, qk_norm=True),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("routing", ["standard", "lft"])
def test_forward_flops_equal_the_flop_counter(name, routing):
    shape = SHAPES[name]
    schedule = make_schedule(routing, shape.num_blocks)
    with torch.device("meta"):
        model = Transformer(shape, schedule)
        tokens = torch.zeros(1, shape.context_length, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model(tokens)
    expected = count_costs(shape, schedule.num_steps).forward_flops_per_token * shape.context_length
    assert counter.get_total_flops() == expected


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
