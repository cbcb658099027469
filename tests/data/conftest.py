"""Small corpora of made-up words, written where the test wants them."""

import json
import random
from pathlib import Path

import pytest

from lft.data import FilesConfig


def make_documents(count: int, seed: int = 0) -> list[str]:
    """Different documents of a few sentences each, enough for a vocabulary of 300."""
    generator = random.Random(seed)
    words = ["".join(generator.choices("abcdefghijklmnop", k=generator.randint(2, 8))) for _ in range(200)]
    return [
        f"Document {index} of {seed}: " + " ".join(generator.choices(words, k=generator.randint(5, 60))) + "."
        for index in range(count)
    ]


@pytest.fixture
def documents() -> list[str]:
    return make_documents(120)


@pytest.fixture
def write_corpus(tmp_path):
    """Writes documents as a .jsonl file."""

    def write(documents: list[str], name: str = "corpus.jsonl") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
        return path

    return write


@pytest.fixture
def request_files():
    """A request for files, small unless said otherwise."""

    def request(*paths: object, **changes: object) -> FilesConfig:
        settings: dict = {"name": "files", "validation_fraction": 0.2, "vocab_size": 300, **changes}
        return FilesConfig(paths=[str(path) for path in paths], **settings)

    return request
