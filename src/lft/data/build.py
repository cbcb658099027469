"""One preparation: documents in, tokenizer and shards out, resumable at every closed shard."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lft.data.config import DataConfig
from lft.data.prepared import MANIFEST, TOKENIZER
from lft.data.report import Report
from lft.data.shards import SplitWriter, stream_sha256, write_atomically
from lft.data.sources import Source
from lft.data.tokenizer import (
    END_OF_TEXT,
    check_tokenizer,
    load_tokenizer,
    read_tokenizer,
    token_bytes,
    train_tokenizer,
)
from lft.errors import RequestError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Part of every prepared folder's name: raise it whenever the same request would yield other content.
FORMAT_VERSION = 1
PROGRESS = "progress.json"

# So that the windows of the last batch, context and target, still fit behind the tokens asked for.
TRAIN_SLACK = 65_536
# Documents are encoded in batches of about this many characters, on all cores.
BATCH_CHARACTERS = 4_000_000


def is_held_out(text: str, fraction: float) -> bool:
    """Whether a document belongs to the validation split: by its text alone, never by its position."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") < fraction * 2**64


class Build:
    """The state of a preparation.

    Args:
        config: The request.
        source: Where documents come from.
        folder: Where the result goes; what an earlier start left there is taken up.
        report: Told of the progress.
    """

    def __init__(self, config: DataConfig, source: Source, folder: Path, report: Report) -> None:
        self.config, self.source, self.folder, self.report = config, source, folder, report
        limit = None if config.train_tokens is None else config.train_tokens + TRAIN_SLACK
        self.train = SplitWriter("train", limit)
        self.validation = SplitWriter("validation", config.validation_tokens)
        self.documents_read = 0

    def run(self) -> None:
        """Go on from what is there to a complete folder.

        Raises:
            RequestError: The source or the tokenizer cannot be used as asked.
        """
        self._take_up()
        tokenizer = self._tokenizer()
        self.token_bytes = token_bytes(tokenizer)
        self.end_of_text = tokenizer.token_to_id(END_OF_TEXT)
        # Says that several cores are meant; else loader processes forked later warn of it.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
        with self.report.encoding(self.train.limit, self.train.tokens):
            self._encode(tokenizer)
        self._check_splits()
        self._commit()
        self._write_manifest()

    def _take_up(self) -> None:
        """Read the progress of an earlier start and remove what it does not vouch for."""
        self.folder.mkdir(exist_ok=True)
        keep = {TOKENIZER, PROGRESS}
        progress = self.folder / PROGRESS
        if progress.is_file() and (self.folder / TOKENIZER).is_file():
            record = json.loads(progress.read_bytes())
            self.documents_read = record["documents_read"]
            for split in (self.train, self.validation):
                split.restore(record["splits"][split.name])
                keep.update(shard.file for shard in split.shards)
        for path in self.folder.iterdir():
            if path.name not in keep:
                path.unlink()

    def _tokenizer(self) -> "Tokenizer":
        path = self.folder / TOKENIZER
        given = self.config.tokenizer
        if given is not None:
            check_tokenizer(load_tokenizer(Path(given)), self.config.vocab_size, given)
            write_atomically(path, read_tokenizer(Path(given)))
        elif not path.is_file():
            tokenizer = train_tokenizer(self._tokenizer_texts(), self.config.vocab_size)
            write_atomically(path, tokenizer.to_str().encode())
        return load_tokenizer(path)

    def _tokenizer_texts(self) -> Iterator[str]:
        """Training documents until enough bytes are read."""
        documents = held_out = size = 0
        for text in self.source.documents():
            if not text.strip():
                continue
            documents += 1
            if documents == 1:
                self.report.say("training the tokenizer")
            if is_held_out(text, self.config.validation_fraction):
                held_out += 1
                continue
            yield text
            size += len(text.encode())
            if size >= self.config.tokenizer_bytes:
                return
        _check_found(documents, held_out)

    def _encode(self, tokenizer: "Tokenizer") -> None:
        for batch in _batches(self.source.documents(skip=self.documents_read)):
            splits = [self._split(text) for text in batch]
            wanted = [text for text, split in zip(batch, splits, strict=True) if split]
            encodings = iter(tokenizer.encode_batch_fast(wanted, add_special_tokens=False))
            for split in splits:
                self.documents_read += 1
                if split:
                    self._add(split, next(encodings).ids)
            self.report.update(self.train.tokens, self.train.bytes + self.validation.bytes)
            if self.train.full and self.validation.full:
                return

    def _split(self, text: str) -> SplitWriter | None:
        """The split a document goes to; None for a blank one and one whose split is full."""
        if not text.strip():
            return None
        split = self.validation if is_held_out(text, self.config.validation_fraction) else self.train
        return None if split.full else split

    def _add(self, split: SplitWriter, ids: list[int]) -> None:
        if split.full:
            return
        split.add(np.array([*ids, self.end_of_text], dtype=np.uint16), self.token_bytes)
        if split.full or split.pending_tokens >= self.config.shard_tokens:
            self._commit()

    def _commit(self) -> None:
        """Close the shards of both splits and note how far this got.

        Both, since the note counts documents, and every document before it must be in a shard.
        """
        for split in (self.train, self.validation):
            split.close_shard(self.folder)
        record = {"documents_read": self.documents_read, "splits": self._splits()}
        write_atomically(self.folder / PROGRESS, json.dumps(record).encode())

    def _check_splits(self) -> None:
        training, held_out = self.train.documents, self.validation.documents
        _check_found(training + held_out, held_out)
        if held_out == 0:
            raise RequestError(
                f"none of the {training} documents is held out at "
                f"data.validation_fraction={self.config.validation_fraction}; raise it or give more documents"
            )

    def _write_manifest(self) -> None:
        tokenizer_sha256 = hashlib.sha256((self.folder / TOKENIZER).read_bytes()).hexdigest()
        hashes = [stream_sha256(self.folder, split.shards) for split in (self.train, self.validation)]
        manifest = {
            "format_version": FORMAT_VERSION,
            "fingerprint": hashlib.sha256(" ".join([tokenizer_sha256, *hashes]).encode()).hexdigest(),
            "source": self.source.description(),
            "tokenizer_sha256": tokenizer_sha256,
            "vocab_size": self.config.vocab_size,
            "validation_fraction": self.config.validation_fraction,
            "splits": self._splits(),
        }
        write_atomically(self.folder / MANIFEST, json.dumps(manifest, indent=2).encode())
        (self.folder / PROGRESS).unlink()

    def _splits(self) -> dict[str, dict]:
        return {split.name: split.record() for split in (self.train, self.validation)}


def _check_found(documents: int, held_out: int) -> None:
    if documents == 0:
        raise RequestError("the corpus holds no text; give documents that are not blank")
    if documents == held_out:
        raise RequestError(
            f"every one of the {documents} documents is held out, none is left to train on; lower "
            "data.validation_fraction or give more documents"
        )


def _batches(documents: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    characters = 0
    for text in documents:
        batch.append(text)
        characters += len(text)
        if characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
