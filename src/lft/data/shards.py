"""Token shards: files of 16-bit token ids that are either whole or not there."""

import hashlib
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lft.errors import RequestError

# Little-endian, so that a folder can be copied to any machine.
TOKEN_TYPE = np.dtype("<u2")
CHUNK_BYTES = 1 << 22


@dataclass(frozen=True)
class Shard:
    """A file of token ids, as a manifest lists it."""

    file: str
    tokens: int
    sha256: str


@dataclass
class SplitWriter:
    """Collects the tokens of a split and writes them out as shards.

    Attributes:
        name: `train` or `validation`; shard files start with it.
        limit: Tokens after which the split is full; None for no limit.
        documents: Documents that went in so far.
        tokens: Tokens that went in so far.
        bytes: UTF-8 bytes of text that went in so far.
        shards: Those written.
    """

    name: str
    limit: int | None
    documents: int = 0
    tokens: int = 0
    bytes: int = 0
    shards: list[Shard] = field(default_factory=list)
    _pending: list[np.ndarray] = field(default_factory=list, repr=False)

    @property
    def full(self) -> bool:
        """Whether the limit is reached."""
        return self.limit is not None and self.tokens >= self.limit

    @property
    def pending_tokens(self) -> int:
        """Tokens not yet in a shard."""
        return self.tokens - sum(shard.tokens for shard in self.shards)

    def add(self, tokens: np.ndarray, token_bytes: np.ndarray) -> None:
        """Take a document in, cut off where it crosses the limit; a full split takes nothing."""
        if self.limit is not None:
            tokens = tokens[: self.limit - self.tokens]
        if len(tokens) == 0:
            return
        self._pending.append(tokens)
        self.documents += 1
        self.tokens += len(tokens)
        self.bytes += int(token_bytes[tokens].sum(dtype=np.int64))

    def close_shard(self, folder: Path) -> None:
        """Write what is pending as the next shard; nothing pending writes nothing."""
        if not self._pending:
            return
        content = np.concatenate(self._pending).astype(TOKEN_TYPE).tobytes()
        file = f"{self.name}-{len(self.shards):05d}.bin"
        write_atomically(folder / file, content)
        sha256 = hashlib.sha256(content).hexdigest()
        self.shards.append(Shard(file, len(content) // TOKEN_TYPE.itemsize, sha256))
        self._pending = []

    def record(self) -> dict[str, Any]:
        """Counts and shards, for the manifest."""
        return {
            "documents": self.documents,
            "tokens": self.tokens,
            "bytes": self.bytes,
            "shards": [asdict(shard) for shard in self.shards],
        }

    def restore(self, record: dict[str, Any]) -> None:
        """Take up where `record` left off."""
        self.documents, self.tokens, self.bytes = record["documents"], record["tokens"], record["bytes"]
        self.shards = [Shard(**shard) for shard in record["shards"]]


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is seen whole or not at all, even when the process is killed."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def verify_size(folder: Path, shard: Shard) -> None:
    """Compare a shard's size with its manifest.

    Raises:
        RequestError: The shard is missing, or of another size.
    """
    path = folder / shard.file
    if not path.is_file():
        raise damaged(folder, f"the shard {shard.file} is missing")
    expected = shard.tokens * TOKEN_TYPE.itemsize
    if path.stat().st_size != expected:
        raise damaged(folder, f"the shard {shard.file} has {path.stat().st_size} bytes instead of {expected}")


def verify_content(folder: Path, shard: Shard) -> None:
    """Compare a shard's hash with its manifest.

    Raises:
        RequestError: The content has changed.
    """
    with (folder / shard.file).open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != shard.sha256:
            raise damaged(folder, f"the shard {shard.file} is corrupt")


def damaged(folder: Path, what: str) -> RequestError:
    """The error about a prepared folder that cannot be trusted, with the way to mend it."""
    return RequestError(f"{folder}: {what}; delete that folder and run prepare again")


def stream_sha256(folder: Path, shards: list[Shard]) -> str:
    """Hash of all tokens of a split, however they are divided into shards."""
    digest = hashlib.sha256()
    for shard in shards:
        with (folder / shard.file).open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
    return digest.hexdigest()
