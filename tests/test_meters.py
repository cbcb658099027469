"""Energy counters, from folders like the kernel's and a library like NVIDIA's."""

import sys
from types import SimpleNamespace

import pytest
import torch

from lft import meters
from lft.errors import RequestError
from lft.meters import GraphicsEnergy, find_meter

CPU = torch.device("cpu")


@pytest.fixture
def powercap(tmp_path, monkeypatch):
    """Two processor packages, and a part of one."""
    monkeypatch.setattr(meters, "POWERCAP", tmp_path)
    for name in ("intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "energy_uj").write_text("1000000\n")
        (tmp_path / name / "max_energy_range_uj").write_text("9999999\n")
    return tmp_path


def test_energy_of_all_packages_is_summed_and_their_parts_are_not_counted_twice(powercap):
    meter = find_meter("energy", CPU)
    for name in ("intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0"):
        (powercap / name / "energy_uj").write_text("3500000\n")
    assert meter.read() == pytest.approx(5.0)


def test_a_counter_that_started_over_goes_on_counting(powercap):
    meter = find_meter("energy", CPU)
    (powercap / "intel-rapl:0" / "energy_uj").write_text("500000\n")
    assert meter.read() == pytest.approx(9.5)
    assert meter.read() == pytest.approx(9.5)


def test_a_machine_without_counter_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(meters, "POWERCAP", tmp_path)
    with pytest.raises(RequestError, match=r"match=energy needs an energy counter.*use match=wallclock"):
        find_meter("energy", CPU)


def test_joules_of_a_gpu_come_from_its_own_counter(monkeypatch):
    millijoules = iter([5_000, 5_000, 7_500])
    library = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=lambda uuid: {"GPU-1234": "handle"}[uuid],
        nvmlDeviceGetTotalEnergyConsumption=lambda handle: next(millijoules),
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(uuid="1234"))
    meter = GraphicsEnergy(torch.device("cuda"))
    assert meter.read() == 5.0
    assert meter.read() == 7.5
