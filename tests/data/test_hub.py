"""Datasets of the Hub, by way of local folders laid out like one."""

import time

import pyarrow
import pytest
from pyarrow import parquet

from lft.data import FineWebEduConfig, find, prepare, prepared_folder
from lft.data.sources import ConnectionLost, open_source
from lft.errors import RequestError

README = """---
configs:
- config_name: sample-10BT
  data_files:
  - split: train
    path: sample/10BT/*.parquet
---
"""


@pytest.fixture
def dataset(tmp_path, documents):
    """A dataset of two parquet files."""
    folder = tmp_path / "dataset"
    (folder / "sample" / "10BT").mkdir(parents=True)
    (folder / "README.md").write_text(README)
    for number, texts in enumerate((documents[:70], documents[70:])):
        table = pyarrow.table({"text": texts, "score": [1.0] * len(texts)})
        parquet.write_table(table, folder / "sample" / "10BT" / f"{number:03}.parquet")
    return folder


@pytest.fixture
def request_dataset(dataset):
    def request(**changes: object) -> FineWebEduConfig:
        settings: dict = {
            "name": "fineweb_edu",
            "repository": str(dataset),
            "subset": "sample-10BT",
            "validation_fraction": 0.2,
            "vocab_size": 300,
            **changes,
        }
        return FineWebEduConfig(**settings)

    return request


def online(**changes: object) -> FineWebEduConfig:
    settings: dict = {"name": "fineweb_edu", "validation_fraction": 0.1, "revision": "87f0", **changes}
    return FineWebEduConfig(**{"repository": "HuggingFaceFW/fineweb-edu", **settings})


@pytest.fixture
def offline(monkeypatch):
    """A Hub that nobody answers for, whether or not the machine has a network."""
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", _refuse)


def _refuse(*arguments: object, **keywords: object) -> None:
    raise ConnectionError("no route to host")


def test_documents_come_in_order(request_dataset, documents):
    source = open_source(request_dataset())
    assert list(source.documents()) == documents
    assert list(source.documents(skip=75)) == documents[75:]


def test_preparation_reads_all_of_it(request_dataset, documents, tmp_path):
    data = prepare(request_dataset(), tmp_path / "prepared", progress=False)
    splits = data.manifest["splits"]
    assert splits["train"]["documents"] + splits["validation"]["documents"] == len(documents)
    assert data.manifest["source"]["subset"] == "sample-10BT"


@pytest.mark.parametrize("changes", [{"subset": "nothing"}, {"split": "nothing"}])
def test_a_wrong_name_is_a_wrong_request(request_dataset, changes):
    with pytest.raises(RequestError, match=r"nothing.*check data.repository, data.subset and data.split"):
        list(open_source(request_dataset(**changes)).documents())


def test_a_wrong_field_lists_those_there_are(request_dataset):
    with pytest.raises(RequestError, match=r"record 1 has no field 'body'; its fields are: text, score"):
        list(open_source(request_dataset(text_field="body")).documents())


def test_a_broken_file_is_a_wrong_request(request_dataset, dataset):
    (dataset / "sample" / "10BT" / "000.parquet").write_bytes(b"no parquet")
    with pytest.raises(RequestError, match="cannot read the dataset"):
        list(open_source(request_dataset()).documents())


def test_without_a_network_the_message_says_what_to_do(offline, tmp_path):
    before = time.monotonic()
    with pytest.raises(
        RequestError, match=r"cannot reach the Hugging Face Hub.*ConnectionError.*data=sample"
    ):
        prepare(online(), tmp_path / "new" / "prepared", progress=False)
    assert time.monotonic() - before < 10
    assert list(tmp_path.iterdir()) == []


def test_what_is_prepared_needs_no_network(offline, request_dataset, tmp_path):
    prepared = prepare(request_dataset(), tmp_path / "elsewhere", progress=False)
    (tmp_path / "here").mkdir()
    prepared.folder.rename(prepared_folder(online(), tmp_path / "here"))
    assert find(online(), tmp_path / "here").fingerprint == prepared.fingerprint


def test_the_folder_depends_on_the_request_alone(tmp_path):
    assert prepared_folder(online(), tmp_path) == prepared_folder(online(loader_workers=4), tmp_path)
    assert prepared_folder(online(), tmp_path) != prepared_folder(online(revision="1234"), tmp_path)
    assert prepared_folder(online(), tmp_path) != prepared_folder(online(train_tokens=10), tmp_path)


def test_a_lost_connection_keeps_the_shards(request_dataset, documents, tmp_path, monkeypatch):
    request = request_dataset(shard_tokens=500, tokenizer_bytes=5000)
    whole = prepare(request, tmp_path / "whole", progress=False)

    def break_off(self, skip=0):
        yield from documents[skip:100]
        raise ConnectionLost("gone")

    monkeypatch.setattr("lft.data.build.BATCH_CHARACTERS", 1000)
    with monkeypatch.context() as patch:
        patch.setattr("lft.data.sources.hub.HubSource.documents", break_off)
        with pytest.raises(ConnectionLost):
            prepare(request, tmp_path / "broken", progress=False)
    assert (prepared_folder(request, tmp_path / "broken") / "train-00000.bin").exists()
    assert prepare(request, tmp_path / "broken", progress=False).manifest == whole.manifest
