"""Files of one's own."""

import glob
import hashlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from lft.data.config import FilesConfig
from lft.data.sources.formats import SUPPORTED, is_supported, read_documents
from lft.errors import RequestError


class FileSource:
    """The documents of files, folders and globs.

    Args:
        config: Which ones.
        asked_as: The key of the command line that names them, for messages.

    Raises:
        RequestError: A path is missing, holds no supported file, or is of another format.
    """

    def __init__(self, config: FilesConfig, asked_as: str = "data.paths=[...]") -> None:
        if not config.paths:
            raise RequestError(f"no text is named; name files, folders or globs as {asked_as}")
        self.text_field = config.text_field
        found = [path for text in config.paths for path in _expand(text, asked_as)]
        # A file named twice is read once.
        self.files = list({path.resolve(): path for path in found}.values())

    def identity(self) -> dict[str, Any]:
        """Name, size and time of change of each file; reading them all would take long."""
        states = [(path, path.stat()) for path in self.files]
        files = [[path.name, state.st_size, state.st_mtime_ns] for path, state in states]
        return {"kind": "files", "files": files, "text_field": self.text_field}

    def description(self) -> dict[str, Any]:
        """Name and sha256 of each file."""
        files = [{"file": path.name, "sha256": _sha256(path)} for path in self.files]
        return {"kind": "files", "files": files, "text_field": self.text_field}

    def documents(self, skip: int = 0) -> Iterator[str]:
        """Yield the documents after the first `skip`.

        Raises:
            RequestError: A file is broken, or a record has no text.
        """
        documents = (text for path in self.files for text in read_documents(path, self.text_field))
        return islice(documents, skip, None)


def _expand(text: str, asked_as: str) -> list[Path]:
    """The files behind one of `data.paths`."""
    path = Path(text).expanduser()
    if path.is_file():
        if not is_supported(path):
            raise RequestError(f"{path} is of no supported format; those are {SUPPORTED}")
        return [path]
    if path.is_dir():
        return _supported(sorted(path.rglob("*")), path)
    # Path.glob takes no absolute patterns.
    matches = sorted(glob.glob(str(path), recursive=True))
    if not matches:
        raise RequestError(f"there is no {path}; name files, folders or globs as {asked_as}")
    inside = [file for match in matches for file in (Path(match), *sorted(Path(match).rglob("*")))]
    return _supported(inside, path)


def _supported(paths: list[Path], where: Path) -> list[Path]:
    files = [path for path in paths if path.is_file() and is_supported(path)]
    if not files:
        raise RequestError(f"{where} holds no supported file; supported are {SUPPORTED}")
    return files


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
