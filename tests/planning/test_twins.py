"""Models that cost the same as another by their width."""

import pytest
from composing import ROOT, compose_train
from hypothesis import given
from hypothesis import strategies as st

from lft.costs import ModelShape, count_costs
from lft.errors import RequestError
from lft.planning import make_arm
from lft.planning.twins import fit_width, quantity_of

SCALES = [file.stem for file in sorted((ROOT / "conf/scale").glob("*.yaml"))]
SHAPE = ModelShape(3072, 5, 192, 3, 3, 416, 768)


def arm(routing, scale, *overrides):
    return make_arm(compose_train(f"routing={routing}", f"scale={scale}", *overrides))


@pytest.mark.parametrize("scale", SCALES)
def test_thin_deep_has_the_parameters_of_standard_and_the_depth_of_the_anchor(scale):
    thin, standard, deep = arm("thin_deep", scale), arm("standard", scale), arm("deep", scale)
    assert thin.costs.parameters == pytest.approx(standard.costs.parameters, rel=0.01)
    assert thin.schedule == deep.schedule
    assert thin.shape.d_model < standard.shape.d_model


@pytest.mark.parametrize("revisits", [1, 2])
@pytest.mark.parametrize("scale", SCALES)
def test_wide_has_the_flops_of_lft_and_the_depth_of_standard(scale, revisits):
    option = f"routing.revisits={revisits}"
    wide, lft, standard = arm("wide", scale, option), arm("lft", scale, option), arm("standard", scale)
    assert wide.costs.forward_flops_per_token == pytest.approx(lft.costs.forward_flops_per_token, rel=0.01)
    assert wide.schedule == standard.schedule
    assert wide.shape.d_model > standard.shape.d_model


@pytest.mark.parametrize("scale", SCALES)
def test_shrunk_is_an_lft_with_the_flops_of_standard(scale):
    shrunk, standard = arm("shrunk", scale), arm("standard", scale)
    flops = standard.costs.forward_flops_per_token
    assert shrunk.costs.forward_flops_per_token == pytest.approx(flops, rel=0.01)
    assert shrunk.costs.parameters < standard.costs.parameters


@pytest.mark.parametrize(("num_blocks", "stored"), [(8, 4), (14, 6)])
def test_shrunk_keeps_the_width_where_the_steps_are_equal(num_blocks, stored):
    shrunk = arm("shrunk", "10m", f"scale.num_blocks={num_blocks}")
    assert (shrunk.schedule.num_blocks, shrunk.schedule.num_steps) == (stored, num_blocks)
    assert (shrunk.shape.d_model, shrunk.shape.d_ff) == (320, 768)
    assert shrunk.twin.mismatch == 0


@given(
    num_steps=st.integers(1, 40),
    quantity=st.sampled_from(["parameters", "flops"]),
    factor=st.floats(0.4, 4.0),
    kv_heads=st.sampled_from([1, 2, 4]),
)
def test_a_width_is_found_near_any_reasonable_target(num_steps, quantity, factor, kv_heads):
    shape = ModelShape(3072, 5, 256, 4, kv_heads, 512, 256)
    target = round(factor * quantity_of(shape, 10, quantity))
    fitted = fit_width(shape, num_steps, quantity, target)
    assert quantity_of(fitted, num_steps, quantity) == pytest.approx(target, rel=0.01)
    assert fitted.num_heads // fitted.num_kv_heads == shape.num_heads // shape.num_kv_heads
    assert fitted.num_blocks == shape.num_blocks


def test_a_shape_that_meets_its_target_stays():
    target = count_costs(SHAPE, 5).forward_flops_per_token
    assert fit_width(SHAPE, 5, "flops", target) is SHAPE


def test_a_target_below_every_width_is_refused():
    with pytest.raises(RequestError, match="no width of this scale brings 5 steps to 10 flops"):
        fit_width(SHAPE, 5, "flops", 10)
