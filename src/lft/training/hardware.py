"""What the machine can do: number format, compiler, peak rate and memory."""

import resource
import shutil
import sys
import time
from functools import cache
from pathlib import Path

import torch
from lightning.fabric.utilities.throughput import get_available_flops

from lft.errors import RequestError

# From the makers' data sheets, for GPUs that Lightning's table has not, or has with the sparsity that
# training has no use for.
DENSE_BFLOAT16_FLOPS = {
    "B200": 2.25e15,
    "H200 NVL": 835e12,
    "H200": 989e12,
    "H100 NVL": 835e12,
    "MI300X": 1307e12,
}


def chosen_device(accelerator: str) -> torch.device:
    """The kind of device that Lightning's `accelerator` will mean on this machine."""
    if accelerator == "auto":
        accelerator = (
            "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        )
    return torch.device({"gpu": "cuda"}.get(accelerator, accelerator))


def resolve_precision(precision: str, device: torch.device) -> str:
    """Lightning's precision for a request.

    Raises:
        RequestError: bf16 is asked for where the hardware cannot compute in it.
    """
    if precision == "fp32":
        return "32-true"
    if computes_bfloat16(device):
        return "bf16-mixed"
    if precision == "bf16":
        raise RequestError(
            f"this {device.type} does not compute in bf16; use precision=fp32 or precision=auto"
        )
    return "32-true"


def computes_bfloat16(device: torch.device) -> bool:
    """Whether the device has instructions for bfloat16 products; emulation would only be slower."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
        return any(flag in flags for flag in ("avx512_bf16", "amx_bf16", " bf16 "))
    return False


def resolve_compile(request: str, device: torch.device) -> bool:
    """Whether to compile: as asked, or where the compiler for the device is installed."""
    if request != "auto":
        return request == "true"
    if device.type == "cpu":
        return any(shutil.which(compiler) for compiler in ("g++", "clang++", "c++"))
    return device.type == "cuda"


@cache
def peak_flops(device: torch.device, precision: str) -> float:
    """FLOPs per second of one device: the maker's figure for known GPUs, else measured once per process."""
    dtype = torch.bfloat16 if precision == "bf16-mixed" else torch.float32
    known = listed_flops(torch.cuda.get_device_name(device), dtype) if device.type == "cuda" else None
    if known is None and device.type == "cuda":
        known = get_available_flops(device, dtype)
    return float(known) if known else _measured_flops(device, dtype)


def listed_flops(device_name: str, dtype: torch.dtype) -> float | None:
    """The maker's dense bfloat16 rate of a GPU by its name; None for other GPUs and formats."""
    if dtype is not torch.bfloat16:
        return None
    return next((rate for name, rate in DENSE_BFLOAT16_FLOPS.items() if name in device_name), None)


def _measured_flops(device: torch.device, dtype: torch.dtype, size: int = 2048, repeats: int = 4) -> float:
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        # Reading one value back waits for the product on an accelerator.
        (left @ right)[0, 0].item()
        best = min(best, time.perf_counter() - started)
    return 2 * size**3 / best


def reset_peak_memory(device: torch.device) -> None:
    """Forget earlier peaks, so that each run of a sweep reports its own."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    elif Path("/proc/self/clear_refs").exists():
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            # Not permitted in some containers: the peak is then the process's.
            return


def peak_memory_bytes(device: torch.device) -> int:
    """Largest memory since the reset: the device's on a GPU, the process's on a CPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
