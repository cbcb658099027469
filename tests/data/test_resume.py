"""Preparation that is killed, and preparation that is asked for twice at once."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lft.data import find, prepare, prepared_folder
from lft.data.build import Build
from lft.data.sources.files import FileSource
from lft.errors import RequestError


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def request_shards(write_corpus, request_files, documents, monkeypatch):
    """A request that yields a handful of shards."""
    monkeypatch.setattr("lft.data.build.BATCH_CHARACTERS", 2000)
    return request_files(write_corpus(documents), shard_tokens=1500)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("moment", ["os.fsync", "pathlib.Path.replace"])
def test_killed_at_any_moment_it_goes_on_to_the_same_bytes(request_shards, tmp_path, monkeypatch, moment):
    whole = contents(prepare(request_shards, tmp_path / "whole", progress=False).folder)
    assert len(whole) > 8
    for survived in range(100):
        root = tmp_path / f"killed-{survived}"
        with monkeypatch.context() as patch:
            kill_after(patch, moment, survived)
            try:
                prepare(request_shards, root, progress=False)
                break
            except Killed:
                pass
        assert find(request_shards, root) is None
        left = contents(prepared_folder(request_shards, root))
        assert all(whole[name] == left[name] for name in left if name.endswith(".bin"))
        assert contents(prepare(request_shards, root, progress=False).folder) == whole
    assert survived > 8


def kill_after(patch: pytest.MonkeyPatch, moment: str, survived: int) -> None:
    original = os.fsync if moment == "os.fsync" else Path.replace
    calls = 0

    def replacement(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls > survived:
            raise Killed
        return original(*arguments)

    patch.setattr(moment, replacement)


KILLED_IN_THE_MIDDLE_OF_A_SHARD = """
import os, signal, sys
from pathlib import Path
import lft.data.shards
from lft.data import FilesConfig, prepare

def die(path, content):
    if path.name == "train-00002.bin":
        path.with_name(path.name + ".tmp").write_bytes(content[: len(content) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    whole(path, content)

whole, lft.data.shards.write_atomically = lft.data.shards.write_atomically, die
prepare(FilesConfig(**eval(sys.argv[1])), Path(sys.argv[2]), progress=False)
"""


def test_a_killed_process_leaves_nothing_half(request_shards, tmp_path):
    whole = contents(prepare(request_shards, tmp_path / "whole", progress=False).folder)
    root = tmp_path / "killed"
    command = [sys.executable, "-c", KILLED_IN_THE_MIDDLE_OF_A_SHARD, repr(vars(request_shards)), str(root)]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    left = contents(prepared_folder(request_shards, root))
    assert {"train-00001.bin", "train-00002.bin.tmp", "progress.json"} <= set(left)
    assert "train-00002.bin" not in left and "manifest.json" not in left
    assert contents(prepare(request_shards, root, progress=False).folder) == whole


def test_a_resumed_preparation_does_not_encode_again(request_shards, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        kill_after(patch, "os.fsync", 9)
        with pytest.raises(Killed):
            prepare(request_shards, tmp_path / "root", progress=False)
    skipped, original = [], FileSource.documents
    monkeypatch.setattr(
        FileSource, "documents", lambda self, skip=0: skipped.append(skip) or original(self, skip)
    )
    prepare(request_shards, tmp_path / "root", progress=False)
    assert len(skipped) == 1 and skipped[0] > 20


def test_a_second_preparer_waits_and_finds_the_result(request_shards, tmp_path, monkeypatch, capsys):
    entered, builds, run = threading.Event(), [], Build.run

    def slow_run(self: Build) -> None:
        builds.append(self)
        entered.set()
        time.sleep(0.3)
        run(self)

    monkeypatch.setattr(Build, "run", slow_run)
    found = []
    first, second = (
        threading.Thread(target=lambda: found.append(prepare(request_shards, tmp_path / "root")))
        for _ in range(2)
    )
    first.start()
    entered.wait()
    second.start()
    first.join()
    second.join()
    assert len(builds) == 1 and found[0].fingerprint == found[1].fingerprint
    assert "another process is preparing this; waiting for it" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "root").iterdir()] == [found[0].folder.name]


def test_a_preparer_that_fails_hands_over_to_the_one_that_waits(request_shards, tmp_path, monkeypatch):
    entered, outcomes, run = threading.Event(), [], Build.run

    def failing_once(self: Build) -> None:
        if entered.is_set():
            run(self)
            return
        self.folder.mkdir()
        entered.set()
        time.sleep(0.3)
        raise RequestError("no")

    def attempt() -> None:
        try:
            outcomes.append(len(prepare(request_shards, tmp_path / "root", progress=False).train) > 0)
        except RequestError as error:
            outcomes.append(str(error))

    monkeypatch.setattr(Build, "run", failing_once)
    first, second = threading.Thread(target=attempt), threading.Thread(target=attempt)
    first.start()
    entered.wait()
    second.start()
    first.join()
    second.join()
    assert sorted(outcomes, key=str) == [True, "no"]
