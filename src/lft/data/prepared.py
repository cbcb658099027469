"""Prepared text: opened, verified, and read as one long row of tokens."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lft.data.shards import TOKEN_TYPE, Shard, damaged, verify_content, verify_size
from lft.data.tokenizer import load_tokenizer, token_bytes

MANIFEST, TOKENIZER = "manifest.json", "tokenizer.json"

# Folders whose content this process has verified, with the hash of their manifest.
_verified: set[tuple[Path, str]] = set()


class TokenStream:
    """The shards of a split as one row of token ids.

    Args:
        name: The split in words, for messages.
        paths: The shards in order.
    """

    def __init__(self, name: str, paths: Sequence[Path]) -> None:
        self.name = name
        self.paths = tuple(paths)
        sizes = [path.stat().st_size // TOKEN_TYPE.itemsize for path in self.paths]
        self._starts = np.cumsum([0, *sizes])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __reduce__(self) -> tuple[Any, ...]:
        # Loader processes map the files themselves instead of receiving a copy of all tokens.
        return TokenStream, (self.name, self.paths)

    def window(self, start: int, length: int) -> np.ndarray:
        """Token ids from `start` on, `uint16[length]`, across shard borders.

        Raises:
            IndexError: The window reaches out of the stream.
        """
        end = start + length
        if start < 0 or length < 0 or end > len(self):
            raise IndexError(f"tokens {start} to {end} of a stream of {len(self)}")
        index = int(np.searchsorted(self._starts, start, side="right")) - 1
        parts = []
        while start < end:
            offset, stop = int(self._starts[index]), min(end, int(self._starts[index + 1]))
            parts.append(self._maps[index][start - offset : stop - offset])
            start, index = stop, index + 1
        return np.concatenate(parts) if parts else np.empty(0, TOKEN_TYPE)

    @cached_property
    def _maps(self) -> list[np.memmap]:
        return [np.memmap(path, dtype=TOKEN_TYPE, mode="r") for path in self.paths]


@dataclass(frozen=True)
class PreparedData:
    """A corpus ready for training.

    Attributes:
        folder: Where it lies.
        manifest: What it holds and where that came from.
        tokenizer_path: The tokenizer.json in the folder.
        tokenizer_sha256: Hash of that file.
        fingerprint: Hash of the tokenizer and of every token in order.
        train: Training tokens.
        validation: Held-out tokens.
        token_bytes: UTF-8 bytes that each token stands for, `uint16[vocabulary]`; 0 for the end of text.
    """

    folder: Path
    manifest: dict[str, Any]
    tokenizer_path: Path
    tokenizer_sha256: str
    fingerprint: str
    train: TokenStream
    validation: TokenStream
    token_bytes: np.ndarray


def is_complete(folder: Path) -> bool:
    """Whether preparation came to its end there."""
    return (folder / MANIFEST).is_file()


def open_prepared(folder: Path) -> PreparedData:
    """Open a complete folder; its content is verified the first time a process does so.

    Raises:
        RequestError: A file is missing, truncated or corrupt.
    """
    text = (folder / MANIFEST).read_bytes()
    try:
        manifest = json.loads(text)
        splits = {
            name: [Shard(**shard) for shard in manifest["splits"][name]["shards"]]
            for name in ("train", "validation")
        }
        tokenizer_sha256, fingerprint = manifest["tokenizer_sha256"], manifest["fingerprint"]
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(folder, f"{MANIFEST} is corrupt") from error
    _verify(
        folder, hashlib.sha256(text).hexdigest(), splits["train"] + splits["validation"], tokenizer_sha256
    )
    streams = {name: [folder / shard.file for shard in shards] for name, shards in splits.items()}
    tokenizer_path = folder / TOKENIZER
    return PreparedData(
        folder=folder,
        manifest=manifest,
        tokenizer_path=tokenizer_path,
        tokenizer_sha256=tokenizer_sha256,
        fingerprint=fingerprint,
        train=TokenStream("training text", streams["train"]),
        validation=TokenStream("validation text", streams["validation"]),
        token_bytes=token_bytes(load_tokenizer(tokenizer_path)),
    )


def _verify(folder: Path, manifest_sha256: str, shards: list[Shard], tokenizer_sha256: str) -> None:
    for shard in shards:
        verify_size(folder, shard)
    tokenizer = folder / TOKENIZER
    if not tokenizer.is_file() or hashlib.sha256(tokenizer.read_bytes()).hexdigest() != tokenizer_sha256:
        raise damaged(folder, f"{TOKENIZER} is missing or corrupt")
    if (folder.resolve(), manifest_sha256) in _verified:
        return
    for shard in shards:
        verify_content(folder, shard)
    _verified.add((folder.resolve(), manifest_sha256))
