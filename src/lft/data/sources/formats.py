"""Documents out of files: .txt, .jsonl (either compressed or not) and .parquet."""

import bz2
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from lft.data.sources.fields import missing_field, text_of
from lft.data.sources.zstandard_reader import open_zstandard
from lft.errors import RequestError

COMPRESSIONS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": open_zstandard,
}
SUPPORTED = ".txt and .jsonl (plain or with .gz, .bz2, .xz or .zst) and .parquet"

# A text file up to LONG_TEXT characters is one document; a longer one is cut into pieces of at least
# PIECE characters, so that some of them can be held out.
LONG_TEXT, PIECE = 64 * 1024, 16 * 1024


def is_supported(path: Path) -> bool:
    """Whether the name of a file ends in a format that can be read."""
    return _format(path) in READERS and not (_format(path) == ".parquet" and path.suffix in COMPRESSIONS)


def read_documents(path: Path, text_field: str) -> Iterator[str]:
    """Yield the documents of a file in order.

    Raises:
        RequestError: The file is broken, or a record has no text; the message names file and line.
    """
    with _broken_files_named(path):
        yield from READERS[_format(path)](path, text_field)


@contextmanager
def _broken_files_named(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise RequestError(
            f"{path} cannot be read to its end ({type(error).__name__}: {error}); mend or remove it"
        ) from error


def _format(path: Path) -> str:
    return (path.with_suffix("") if path.suffix in COMPRESSIONS else path).suffix


def _read_text(path: Path, text_field: str) -> Iterator[str]:
    return documents_of_text(line for _, line in _lines(path))


def _read_json_lines(path: Path, text_field: str) -> Iterator[str]:
    for where, record in _records(path):
        yield text_of(record, text_field, where)


def read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a .jsonl file, compressed or not, each with its place in words.

    Raises:
        RequestError: The file is broken; the message names file and line.
    """
    with _broken_files_named(path):
        yield from _records(path)


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in _lines(path):
        where = f"{path} line {number}"
        if line.isspace():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RequestError(f"{where} is not JSON ({error}); mend or remove the line") from None
        if not isinstance(record, dict):
            raise RequestError(f"{where} is not a JSON object; mend or remove the line")
        yield where, record


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file, line ends kept."""
    opener = COMPRESSIONS.get(path.suffix, _open_plain)
    with opener(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                # Some editors mark UTF-8 with a byte order mark, which is no part of the text.
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise RequestError(f"{path} line {number} is not UTF-8; convert the file to UTF-8") from None


def _open_plain(path: Path) -> BinaryIO:
    return path.open("rb")


def documents_of_text(lines: Iterable[str]) -> Iterator[str]:
    """Yield a text as one document, or in pieces when it is long."""
    pieces = _pieces(lines)
    held: list[str] = []
    characters = 0
    for piece in pieces:
        held.append(piece)
        characters += len(piece)
        if characters > LONG_TEXT:
            yield from held
            yield from pieces
            return
    yield "".join(held)


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    """Cut after a blank line, or after any line where there is no blank one for long."""
    piece = io.StringIO()
    for line in lines:
        piece.write(line)
        if piece.tell() >= (PIECE if line.isspace() else LONG_TEXT):
            yield piece.getvalue()
            piece = io.StringIO()
    yield piece.getvalue()


def _read_parquet(path: Path, text_field: str) -> Iterator[str]:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            if text_field not in file.schema_arrow.names:
                raise missing_field(text_field, file.schema_arrow.names, str(path))
            number = 0
            for batch in file.iter_batches(batch_size=1024, columns=[text_field]):
                for text in batch.column(0).to_pylist():
                    number += 1
                    yield text_of({text_field: text}, text_field, f"{path} row {number}")
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        raise RequestError(f"{path} is not a whole parquet file ({error}); mend or remove it") from error


READERS: dict[str, Callable[[Path, str], Iterator[str]]] = {
    ".txt": _read_text,
    ".jsonl": _read_json_lines,
    ".parquet": _read_parquet,
}
