"""Preparation: a request becomes a folder of tokens, once, whoever asks and however often."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lft.data.build import FORMAT_VERSION, Build
from lft.data.config import DataConfig
from lft.data.prepared import PreparedData, is_complete, open_prepared
from lft.data.report import Report
from lft.data.sources import ConnectionLost, Source, open_source
from lft.data.tokenizer import read_tokenizer
from lft.errors import RequestError

if TYPE_CHECKING:
    from filelock import FileLock


def prepare(config: DataConfig, root: Path, progress: bool = True) -> PreparedData:
    """Find the prepared text, or prepare it.

    A preparation that was killed is taken up where it left off; a second one of the same text waits for the
    first and finds its result.

    Args:
        config: What to prepare.
        root: Where prepared folders lie.
        progress: Whether to show progress on standard error.

    Raises:
        RequestError: The text cannot be prepared as asked; nothing new is left behind.
    """
    source = open_source(config)
    folder = _folder(config, source, root)
    if not is_complete(folder):
        report = Report(folder.name, progress)
        with _made(root), _locked(folder, report):
            if not is_complete(folder):
                _build(config, source, folder, report)
    return open_prepared(folder)


def find(config: DataConfig, root: Path) -> PreparedData | None:
    """The prepared text if it is there.

    Raises:
        RequestError: The source is missing, or the folder is damaged.
    """
    folder = prepared_folder(config, root)
    return open_prepared(folder) if is_complete(folder) else None


def prepared_folder(config: DataConfig, root: Path) -> Path:
    """Where the prepared text lies or would lie: `{name}-{8 hex of all that decides its content}`.

    Raises:
        RequestError: The source is missing.
    """
    return _folder(config, open_source(config), root)


def _folder(config: DataConfig, source: Source, root: Path) -> Path:
    tokenizer: dict[str, object] = {"bytes": config.tokenizer_bytes}
    if config.tokenizer is not None:
        tokenizer = {"sha256": hashlib.sha256(read_tokenizer(Path(config.tokenizer))).hexdigest()}
    identity = {
        "format_version": FORMAT_VERSION,
        "source": source.identity(),
        "tokenizer": tokenizer,
        "vocab_size": config.vocab_size,
        "validation_fraction": config.validation_fraction,
        "validation_tokens": config.validation_tokens,
        "train_tokens": config.train_tokens,
    }
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return root / f"{config.name}-{digest[:8]}"


def _build(config: DataConfig, source: Source, folder: Path, report: Report) -> None:
    build = Build(config, source, folder, report)
    try:
        build.run()
    except RequestError as error:
        # Only a lost connection leaves shards that the same request can go on from: input that is mended
        # is other input, with a folder of its own.
        if not (isinstance(error, ConnectionLost) and build.train.shards):
            shutil.rmtree(folder)
        raise


@contextmanager
def _made(root: Path) -> Iterator[None]:
    """Make a folder; when the request turns out wrong, remove what had to be made for it."""
    missing = [path for path in (root, *root.parents) if not path.exists()]
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(
            f"cannot make the folder {root} ({error.strerror}); choose another paths.prepared"
        ) from error
    try:
        yield
    except RequestError:
        with suppress(OSError):
            for path in missing:
                path.rmdir()
        raise


def _wait(lock: "FileLock", root: Path) -> None:
    while not lock.is_locked:
        try:
            lock.acquire()
        except FileNotFoundError:
            # The other process was refused and took away the folder it had made.
            root.mkdir(parents=True, exist_ok=True)


@contextmanager
def _locked(folder: Path, report: Report) -> Iterator[None]:
    """Hold a folder for this process; waits while another one does."""
    from filelock import FileLock, Timeout

    path = folder.parent / f".{folder.name}.lock"
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        report.say("another process is preparing this; waiting for it")
        _wait(lock, folder.parent)
    except OSError as error:
        raise RequestError(
            f"cannot write in {folder.parent} ({error.strerror}); choose another paths.prepared"
        ) from error
    try:
        yield
    finally:
        # Before the release: whoever waits opens the file anew and sees that this one is gone.
        path.unlink(missing_ok=True)
        lock.release()
