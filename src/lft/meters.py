"""Meters: the clock, and the energy counters of processors and GPUs."""

import time
from pathlib import Path
from typing import Protocol

import torch

from lft.errors import RequestError

POWERCAP = Path("/sys/class/powercap")


class Meter(Protocol):
    """Something that only ever counts up.

    Attributes:
        resolution: Seconds below which two readings say little.
    """

    resolution: float

    def read(self) -> float:
        """The count now, in seconds or joules."""
        ...


class EnergyMeter(Meter, Protocol):
    """Something that counts joules.

    Attributes:
        per_device: Whether it counts one device alone; else all that compute on this machine share it.
    """

    per_device: bool


class Clock:
    """Seconds."""

    resolution = 0.0

    def read(self) -> float:
        """Seconds since some moment."""
        return time.perf_counter()


class ProcessorEnergy:
    """Joules of all processor packages, from the counters of Linux's powercap interface (RAPL).

    Args:
        packages: Folders of the packages' counters.
    """

    resolution = 0.5
    per_device = False

    def __init__(self, packages: list[Path]) -> None:
        self.packages = packages
        self._ranges = [_microjoules(package / "max_energy_range_uj") for package in packages]
        self._last = [_microjoules(package / "energy_uj") for package in packages]
        self._total = 0

    def read(self) -> float:
        """Joules since the meter was made."""
        for index, package in enumerate(self.packages):
            now = _microjoules(package / "energy_uj")
            # The counter starts over at its range.
            self._total += (now - self._last[index]) % (self._ranges[index] + 1)
            self._last[index] = now
        return self._total / 1e6


class GraphicsEnergy:
    """Joules of one NVIDIA GPU, from its own counter.

    Args:
        device: The GPU.

    Raises:
        pynvml.NVMLError: The GPU has no counter.
    """

    resolution = 1.0
    per_device = True

    def __init__(self, device: torch.device) -> None:
        import pynvml

        pynvml.nvmlInit()
        self._nvml = pynvml
        identity = f"GPU-{torch.cuda.get_device_properties(device).uuid}"
        self._handle = pynvml.nvmlDeviceGetHandleByUUID(identity)
        self.read()

    def read(self) -> float:
        """Joules since the driver was loaded."""
        return self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle) / 1e3


def find_meter(by: str, device: torch.device) -> Meter:
    """The meter of a match.

    Args:
        by: `wallclock` or `energy`.
        device: Where the run executes.

    Raises:
        RequestError: This machine has no energy counter for the device.
    """
    if by == "wallclock":
        return Clock()
    meter = energy_meter(device)
    if meter is None:
        raise RequestError(
            f"match=energy needs an energy counter and this machine shows none for its {device.type} "
            "(NVML on NVIDIA GPUs, readable /sys/class/powercap on Linux processors); use match=wallclock"
        )
    return meter


def energy_meter(device: torch.device) -> EnergyMeter | None:
    """The energy counter of a device; None where this machine shows none."""
    return _graphics_energy(device) if device.type == "cuda" else _processor_energy()


def _processor_energy() -> ProcessorEnergy | None:
    # Packages are intel-rapl:0, intel-rapl:1, ...; deeper names are parts of them.
    packages = [folder for folder in sorted(POWERCAP.glob("*-rapl:*")) if folder.name.count(":") == 1]
    try:
        return ProcessorEnergy(packages) if packages else None
    except OSError:
        return None


def _graphics_energy(device: torch.device) -> GraphicsEnergy | None:
    try:
        return GraphicsEnergy(device)
    except Exception:
        # No library, no driver, or a GPU before Volta.
        return None


def _microjoules(file: Path) -> int:
    return int(file.read_text())
