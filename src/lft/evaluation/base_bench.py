"""BananaMind Base Bench 1.1: four continuations of a context, the likeliest per token wins."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lft.data import Advice, probe_dataset, read_records
from lft.errors import RequestError
from lft.evaluation.answers import Answers, Row, item_warnings
from lft.evaluation.scorer import Scorer
from lft.evaluation.scoring import Pair
from lft.evaluation.settings import Settings
from lft.runs import content_hash, file_sha256

NAME = "base_bench"
REPOSITORY = "BananaMind/BananaMind-Base-Bench-1.1"
REVISION = "d4aade51312889e8580963e1ce960c6eaef1a450"
REMOTE_FILE = "data/test.jsonl"
LOCAL_FILE = "base_bench_1_1.jsonl"
SHA256 = "2f563bb46df778ca494fa20f994a8d3045d4c51fbbffeee433764e2813abea21"
FIELDS = "context continuations label category category_weight difficulty difficulty_weight item_elo".split()
ADVICE = Advice(
    "the Hub",
    "the Hub",
    f"connect and try again, or put its {REMOTE_FILE} into eval.folder=... as {LOCAL_FILE}",
)


def find_file(folder: Path) -> Path:
    """The benchmark's file, from a folder or from the Hub, checked to be the published one.

    Raises:
        RequestError: It cannot be had (access is granted on its page), or it is another file.
    """
    path = folder / LOCAL_FILE
    if not path.is_file():
        path = _download()
    if file_sha256(path) != SHA256:
        raise RequestError(
            f"{path} is not Base Bench 1.1: its sha256 is not {SHA256}; fetch {REMOTE_FILE} of {REPOSITORY} "
            f"at revision {REVISION}"
        )
    return path


def _download() -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    if not os.environ.get("HF_HUB_OFFLINE"):
        probe_dataset(REPOSITORY, REVISION, ADVICE)
    try:
        return Path(hf_hub_download(REPOSITORY, REMOTE_FILE, repo_type="dataset", revision=REVISION))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        # The page of a gated dataset is open to all; its files are not.
        raise RequestError(
            f"cannot download {REPOSITORY} ({type(error).__name__}); ask for access on its page and log in "
            f"with: hf auth login, or {ADVICE.unreachable}"
        ) from error


def read_items(path: Path) -> list[Row]:
    """The rows of the file.

    Raises:
        RequestError: The file is broken, or a row lacks a field or names no right answer.
    """
    rows = []
    for where, row in read_records(path):
        missing = [name for name in FIELDS if name not in row]
        if missing:
            raise RequestError(f"{where} has no field '{missing[0]}'; restore the file")
        if not (isinstance(row["label"], int) and 0 <= row["label"] < len(row["continuations"])):
            raise RequestError(f"{where} has label {row['label']!r}, which is none of its continuations")
        rows.append(row)
    return rows


def split_at_boundary(context: list[int], whole: list[int]) -> Pair:
    """Where scoring starts: at the first token that differs from those of the context alone.

    Where the text tokenizes across the boundary, the last tokens of the context change, and those that
    replace them are scored.

    Args:
        context: Tokens of the context.
        whole: Tokens of context and continuation encoded together.
    """
    shared = 0
    while shared < min(len(context), len(whole)) and context[shared] == whole[shared]:
        shared += 1
    return Pair(whole[:shared], whole[shared:])


@dataclass(frozen=True)
class BaseBench:
    """The benchmark as a task.

    Attributes:
        settings: How it is asked; `folder` may hold its file.
    """

    settings: Settings
    name: str = NAME

    def identity(self) -> dict[str, Any]:
        """What decides the result beside the model.

        Raises:
            RequestError: As of `find_file`.
        """
        find_file(Path(self.settings.folder))
        data = {"dataset": REPOSITORY, "revision": REVISION, "sha256": SHA256}
        return {"limit": self.settings.limit, "too_long": self.settings.too_long, "data": data}

    def load(self) -> set[str]:
        """Read the items once, to see that they are whole.

        Raises:
            RequestError: As of `read_items`.
        """
        read_items(find_file(Path(self.settings.folder)))
        return {self.name}

    def ask(self, scorer: Scorer) -> Answers:
        """What a model answers.

        Raises:
            RequestError: An item cannot be scored.
        """
        return ask_items(scorer, read_items(find_file(Path(self.settings.folder))))


def ask_items(scorer: Scorer, rows: list[Row]) -> Answers:
    """Ask a model items of the benchmark's form, scored by its official rule."""
    rows = rows[: scorer.settings.limit or None]
    fitted = [_pairs(scorer, row, f"{NAME} item {number}") for number, row in enumerate(rows)]
    scores = scorer.score([pair for choices in fitted for pair, _ in choices], "scoring Base Bench")
    totals = iter([result.total for result in scores])
    items = [
        _item(
            number,
            row,
            [(next(totals), len(pair.continuation)) for pair, _ in choices],
            max(excess for _, excess in choices),
        )
        for number, (row, choices) in enumerate(zip(rows, fitted, strict=True))
    ]
    return Answers(items, {"version": "1.1"}, item_warnings(items))


def _pairs(scorer: Scorer, row: Mapping[str, Any], where: str) -> list[tuple[Pair, int]]:
    """What is scored for each continuation, and how much of its context was cut off."""
    context, *wholes = scorer.encode(
        [row["context"], *(row["context"] + text for text in row["continuations"])]
    )
    return [scorer.fit(split_at_boundary(context, whole), where) for whole in wholes]


def _item(number: int, row: Mapping[str, Any], answer: list[tuple[float, int]], excess: int) -> Row:
    means = [total / length for total, length in answer]
    prediction = means.index(max(means))
    right = prediction == row["label"]
    return {
        "subtask": NAME,
        "output_type": "multiple_choice",
        "item": number,
        "content": content_hash("\n".join([row["context"], *row["continuations"]]).encode()),
        "category": row["category"],
        "difficulty": str(row["difficulty"]),
        "log_probabilities": [total for total, _ in answer],
        "tokens": [length for _, length in answer],
        "bytes": [len(text.encode()) for text in row["continuations"]],
        "characters": [len(text) for text in row["continuations"]],
        "labels": [row["label"]],
        "prediction": prediction,
        "right": right,
        "chance": 1 / len(means),
        "weight": float(row["category_weight"]) * float(row["difficulty_weight"]),
        "item_elo": float(row["item_elo"]),
        "truncated_tokens": excess,
        "metrics": {"acc": float(right)},
    }
