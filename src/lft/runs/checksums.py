"""SHA-256 sums that lie beside files, in the format of `sha256sum`."""

import hashlib
from pathlib import Path

from lft.runs.folder import write_text


def file_sha256(path: Path) -> str:
    """The SHA-256 sum of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_checksum(path: Path) -> None:
    """Write `<name>.sha256` beside a file, so that `sha256sum -c` can check it."""
    write_text(_beside(path), f"{file_sha256(path)}  {path.name}\n")


def recorded_checksum(path: Path) -> str | None:
    """The sum that was written beside a file; None where none was."""
    beside = _beside(path)
    words = beside.read_text(encoding="utf-8", errors="replace").split() if beside.is_file() else None
    # A file that says nothing vouches for nothing.
    return None if words is None else (words or [""])[0]


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
