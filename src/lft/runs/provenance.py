"""Where a run came from: commit, package versions and hardware."""

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

PACKAGES = ("torch", "lightning", "hydra-core", "omegaconf", "tokenizers", "datasets", "numpy", "wandb")


def provenance() -> dict[str, Any]:
    """Git commit with its dirty flag, versions of the packages that shape a result, and the machine."""
    return {
        "git": _git(),
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in PACKAGES},
        "command": sys.argv,
        "hardware": {
            "hostname": platform.node(),
            "platform": platform.platform(),
            "processor": _processor(),
            "cpu_cores": os.cpu_count(),
            "memory_bytes": psutil.virtual_memory().total,
        },
    }


def machine() -> str:
    """The name of this machine and its processor, in words."""
    return f"{platform.node()}, {_processor()}"


def _git() -> dict[str, Any]:
    commit = _git_output("rev-parse", "HEAD")
    changes = _git_output("status", "--porcelain")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def _git_output(*arguments: str) -> str | None:
    repository = Path(__file__).parent
    try:
        result = subprocess.run(
            ["git", *arguments], cwd=repository, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() if result.returncode == 0 else None


def _processor() -> str:
    description = Path("/proc/cpuinfo")
    if description.exists():
        for line in description.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()
