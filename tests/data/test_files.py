"""Documents out of files, and every way in which files can be wrong."""

import bz2
import gzip
import json
import lzma

import pyarrow
import pytest
import zstandard
from pyarrow import parquet

from lft.data.sources import open_source
from lft.errors import RequestError

COMPRESS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


@pytest.fixture
def read(request_files):
    """All documents behind some paths."""
    return lambda *paths, skip=0, **changes: list(
        open_source(request_files(*paths, **changes)).documents(skip)
    )


def json_lines(*texts: str) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def test_a_short_text_file_is_one_document(tmp_path, read):
    (tmp_path / "a.txt").write_bytes("one\n\ntwo é\r\n".encode())
    assert read(tmp_path / "a.txt") == ["one\n\ntwo é\r\n"]


def test_a_long_text_file_is_cut_at_blank_lines(tmp_path, read):
    text = "".join(f"Paragraph {index} " + "word " * 100 + "\n\n" for index in range(200))
    (tmp_path / "long.txt").write_text(text)
    pieces = read(tmp_path / "long.txt")
    assert "".join(pieces) == text
    assert all(piece.endswith("\n\n") and 16_000 < len(piece) < 18_000 for piece in pieces[:-1])


def test_a_long_text_without_blank_lines_is_cut_at_line_ends(tmp_path, read):
    text = "a line of text\n" * 10_000
    (tmp_path / "long.txt").write_text(text)
    pieces = read(tmp_path / "long.txt")
    assert len(pieces) > 1 and "".join(pieces) == text and all(piece.endswith("\n") for piece in pieces)


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("kind", ["txt", "jsonl"])
def test_compressed_files(tmp_path, read, suffix, kind):
    path = tmp_path / f"a.{kind}.{suffix}"
    path.write_bytes(COMPRESS[suffix](b"hello" if kind == "txt" else json_lines("hello")))
    assert read(path) == ["hello"]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_all_members_of_a_compressed_file_are_read(tmp_path, read, suffix):
    path = tmp_path / f"a.jsonl.{suffix}"
    path.write_bytes(COMPRESS[suffix](json_lines("one")) + COMPRESS[suffix](json_lines("two")))
    assert read(path) == ["one", "two"]


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("damage", ["truncated", "garbled", "something else"])
def test_a_broken_compressed_file_is_named(tmp_path, read, suffix, damage):
    path = tmp_path / f"a.jsonl.{suffix}"
    content = COMPRESS[suffix](json_lines(*(f"text {index**3}" for index in range(3000))))
    middle = len(content) // 2
    path.write_bytes(
        {
            "truncated": content[:-20],
            "garbled": content[: middle - 40] + bytes(80) + content[middle + 40 :],
            "something else": b"plain text",
        }[damage]
    )
    with pytest.raises(RequestError, match=str(path)):
        read(path)


def test_parquet(tmp_path, read):
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"id": [1, 2, 3], "body": ["one", "two", "three"]}), path)
    assert read(path, text_field="body") == ["one", "two", "three"]
    assert read(path, text_field="body", skip=2) == ["three"]
    with pytest.raises(RequestError, match=r"no field 'text'; its fields are: id, body"):
        read(path)
    with pytest.raises(RequestError, match=r"row 1: the field 'id' holds a value of type int"):
        read(path, text_field="id")


@pytest.mark.parametrize("damage", [lambda content: content[:-30], lambda content: b"no parquet"])
def test_a_broken_parquet_file_is_named(tmp_path, read, damage):
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"text": ["one"] * 100}), path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(RequestError, match=str(path)):
        read(path)


def test_folders_and_globs_are_read_in_the_order_of_names(tmp_path, read):
    (tmp_path / "sub").mkdir()
    for name in ("b.jsonl", "a.jsonl", "sub/c.jsonl"):
        (tmp_path / name).write_bytes(json_lines(name))
    (tmp_path / "README.md").write_text("not read")
    assert read(tmp_path) == ["a.jsonl", "b.jsonl", "sub/c.jsonl"]
    assert read(tmp_path / "*.jsonl") == ["a.jsonl", "b.jsonl"]
    assert read(tmp_path / "**" / "*.jsonl") == ["a.jsonl", "b.jsonl", "sub/c.jsonl"]
    assert read(tmp_path / "s*", tmp_path / "b.jsonl") == ["sub/c.jsonl", "b.jsonl"]


def test_a_file_named_twice_is_read_once(tmp_path, read):
    (tmp_path / "a.jsonl").write_bytes(json_lines("a"))
    assert read(tmp_path / "a.jsonl", tmp_path) == ["a"]


def test_skipped_documents_run_across_files(tmp_path, read):
    (tmp_path / "a.jsonl").write_bytes(json_lines("1", "2"))
    (tmp_path / "b.jsonl").write_bytes(json_lines("3", "4"))
    assert read(tmp_path, skip=3) == ["4"]


def test_blank_lines_and_a_byte_order_mark_are_passed_over(tmp_path, read):
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + json_lines("one") + b"\n  \n" + json_lines("two"))
    assert read(tmp_path / "a.jsonl") == ["one", "two"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b'{"text": "cut', "line 2 is not JSON"),
        (b"[" * 100_000, "line 2 is not JSON"),
        (b'["text"]', "line 2 is not a JSON object"),
        (b'{"body": "b", "id": 1}', "line 2 has no field 'text'; its fields are: body, id"),
        (b'{"text": null}', "line 2: the field 'text' holds null"),
        (b'{"text": 3}', "line 2: the field 'text' holds a value of type int"),
        (b'{"text": "\\ud800"}', "line 2: half a surrogate pair"),
        (b'{"text": "\xff"}', "line 2 is not UTF-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path, read, line, complaint):
    path = tmp_path / "a.jsonl"
    path.write_bytes(json_lines("fine") + line + b"\n")
    with pytest.raises(RequestError, match=f"{path} {complaint}"):
        read(path)


def test_text_that_is_not_utf8_is_named(tmp_path, read):
    path = tmp_path / "latin.txt"
    path.write_bytes("fine\ncaf\xe9\n".encode("latin-1"))
    with pytest.raises(RequestError, match=f"{path} line 2 is not UTF-8"):
        read(path)


def test_paths_that_lead_nowhere(tmp_path, read):
    (tmp_path / "notes.pdf").touch()
    (tmp_path / "a.parquet.gz").touch()
    for path, complaint in [
        (tmp_path / "missing.txt", "there is no .*missing.txt"),
        (tmp_path / "*.txt", "there is no .*txt"),
        (tmp_path / "notes.pdf", "notes.pdf is of no supported format; those are .txt"),
        (tmp_path / "a.parquet.gz", "no supported format"),
        (tmp_path / "*.pdf", "holds no supported file"),
        (tmp_path, "holds no supported file; supported are .txt"),
    ]:
        with pytest.raises(RequestError, match=complaint):
            read(path)
    with pytest.raises(RequestError, match=r"no text is named; name files, folders or globs as data.paths"):
        read()
