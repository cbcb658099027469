"""The peak rate behind the MFU: looked up, given, or measured."""

import pytest
import torch

from lft.training import train
from lft.training.hardware import listed_flops, peak_flops


@pytest.mark.parametrize(
    ("device", "rate"),
    [("NVIDIA H200", 989e12), ("NVIDIA H100 NVL", 835e12), ("NVIDIA GeForce GTX 970", None)],
)
def test_known_gpus_are_looked_up_by_their_dense_rate(device, rate):
    assert listed_flops(device, torch.bfloat16) == rate
    assert listed_flops(device, torch.float32) is None


def test_a_processor_is_measured_once():
    rate = peak_flops(torch.device("cpu"), "32-true")
    assert rate > 1e8
    assert peak_flops(torch.device("cpu"), "32-true") == rate


def test_a_rate_that_is_given_counts(tiny):
    folder = train(tiny("peak_flops=1e6"))
    assert folder.read("run.json")["execution"]["peak_flops_per_device"] == 1e6
    row = folder.read_metrics()[-2]
    expected = (
        row["perf/tokens_per_second"] * folder.read("run.json")["costs"]["training_flops_per_token"] / 1e6
    )
    assert row["perf/mfu"] == pytest.approx(expected)
