"""lm-eval's own tasks with their items from local files: only where the rows come from is replaced."""

import gzip
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import datasets
import lm_eval.tasks
import yaml
from lm_eval.api.task import ConfigurableTask

from lft.data import read_records
from lft.errors import RequestError
from lft.evaluation.answers import Row

DEFINITIONS = Path(lm_eval.tasks.__file__).parent


@dataclass(frozen=True)
class LocalFile:
    """Where a task's items lie, and how its rows become those of the Hub's dataset.

    Attributes:
        name: The file, plain or with `.gz`.
        definition: lm-eval's definition of the task, relative to its folder of tasks.
        fields: Fields that every row has.
        split: The split that the file holds.
        hub_row: The row as lm-eval's definition reads it.
        group: The field whose values tell the tasks of a group apart; `{}` in the definition stands for it.
        fetched: Whether `make eval-data` fetches it.
    """

    name: str
    definition: str
    fields: tuple[str, ...]
    split: str
    hub_row: Callable[[Row], Row] = dict
    group: str = ""
    fetched: bool = True


def _arc_row(row: Row) -> Row:
    letters = "ABCDEFGHIJ"[: len(row["choices"])]
    if not 0 <= row["answer"] < len(letters):
        raise RequestError(
            f"ARC item {row['id']} has answer {row['answer']}, which is none of its {len(letters)} choices; "
            "mend or remove it"
        )
    choices = {"text": row["choices"], "label": list(letters)}
    return {**row, "choices": choices, "answerKey": letters[row["answer"]]}


ARC_FIELDS = ("id", "question", "choices", "answer")
SCIQ_FIELDS = ("question", "support", "distractor1", "distractor2", "distractor3", "correct_answer")
HELLASWAG_FIELDS = ("ctx_a", "ctx_b", "endings", "label", "activity_label")
WINOGRANDE_FIELDS = ("sentence", "option1", "option2", "answer")
BLIMP_FIELDS = ("sentence_good", "sentence_bad", "UID")

LOCAL_FILES = {
    "piqa": LocalFile(
        "piqa_validation.jsonl", "piqa/piqa.yaml", ("goal", "sol1", "sol2", "label"), "validation"
    ),
    "arc_easy": LocalFile("arc_easy_test.jsonl", "arc/arc_easy.yaml", ARC_FIELDS, "test", _arc_row),
    "arc_challenge": LocalFile(
        "arc_challenge_test.jsonl", "arc/arc_challenge.yaml", ARC_FIELDS, "test", _arc_row
    ),
    "hellaswag": LocalFile(
        "hellaswag_validation.jsonl", "hellaswag/hellaswag.yaml", HELLASWAG_FIELDS, "validation"
    ),
    "winogrande": LocalFile(
        "winogrande_xl_validation.jsonl", "winogrande/default.yaml", WINOGRANDE_FIELDS, "validation"
    ),
    "lambada_openai": LocalFile(
        "lambada_openai_test.jsonl", "lambada/lambada_openai.yaml", ("text",), "test", fetched=False
    ),
    "blimp": LocalFile(
        "blimp_67x1000.jsonl", "blimp/{}.yaml", BLIMP_FIELDS, "train", group="UID", fetched=False
    ),
    # The Hub's definition asks the test split, which the package behind `make eval-data` does not hold.
    "sciq": LocalFile("sciq_validation.jsonl", "sciq/sciq.yaml", SCIQ_FIELDS, "validation"),
}


class FileTask(ConfigurableTask):
    """A task of lm-eval whose dataset is `dataset_kwargs`' file."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config={key: value for key, value in config.items() if key != "class"})

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Read the rows; nothing is downloaded."""
        options = dataset_kwargs or {}
        local = LOCAL_FILES[options["local"]]
        rows = read_rows(Path(options["path"]), local)
        member, limit = options.get("member"), options["limit"] or None
        asked = [row for row in rows if member is None or row[local.group] == member][:limit]
        hub_rows = [local.hub_row(row) for row in asked]
        self.dataset = datasets.DatasetDict({local.split: datasets.Dataset.from_list(hub_rows)})

    @cached_property
    def eval_docs(self) -> datasets.Dataset:
        """The items; lm-eval asks for them many times, and would prepare them anew each time."""
        return super().eval_docs

    def fewshot_docs(self) -> None:
        """None: no examples come before an item."""


def local_path(task: str, folder: Path) -> Path:
    """The file of a task's items.

    Raises:
        RequestError: There is none.
    """
    name = LOCAL_FILES[task].name
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    fetch = "fetch it with make eval-data, " if LOCAL_FILES[task].fetched else ""
    raise RequestError(
        f"{folder} has no {name} or {name}.gz; {fetch}name another folder with eval.folder=..., or use "
        "eval.source=hub"
    )


@lru_cache(maxsize=1)
def read_rows(path: Path, local: LocalFile) -> list[Row]:
    """The rows of a file.

    Raises:
        RequestError: The file is broken or empty, or a row lacks a field.
    """
    rows = []
    for where, row in read_records(path):
        missing = [field for field in local.fields if field not in row]
        if missing:
            raise RequestError(f"{where} has no field '{missing[0]}'; it has {', '.join(row)}")
        rows.append(row)
    if not rows:
        raise RequestError(f"{path} has no items; restore it")
    return rows


@contextmanager
def file_definitions(task: str, folder: Path, limit: int) -> Iterator[Path]:
    """A folder of definitions that include lm-eval's and replace their source of rows.

    Args:
        task: One of `LOCAL_FILES`.
        folder: Where the files lie.
        limit: Only so many items of each task; 0 for all.
    """
    path, local = local_path(task, folder), LOCAL_FILES[task]
    members = sorted({row[local.group] for row in read_rows(path, local)}) if local.group else []
    with TemporaryDirectory() as temporary:
        here = Path(temporary)
        for member in members:
            _define(here, f"{task}_{member}", task, path, limit, member)
        if members:
            group = {"group": task, "task": [f"{task}_{member}" for member in members]}
            (here / "group.yaml").write_text(yaml.safe_dump(group))
        else:
            _define(here, task, task, path, limit)
        yield here


def _define(folder: Path, name: str, task: str, path: Path, limit: int, member: str | None = None) -> None:
    local = LOCAL_FILES[task]
    included = DEFINITIONS / local.definition.format(member)
    if not included.is_file():
        raise RequestError(f"{path} has items of '{member}', which lm-eval does not know; restore the file")
    asked = "test_split" if local.split == "test" else "validation_split"
    splits = dict.fromkeys(("training_split", "validation_split", "test_split")) | {asked: local.split}
    options = {"local": task, "path": str(path), "limit": limit, **({"member": member} if member else {})}
    content = {"include": str(included), "task": name, "dataset_kwargs": options, **splits}
    # YAML's writer has no way to spell lm-eval's tag for a Python object.
    reference = f"class: !function {FileTask.__module__}.{FileTask.__qualname__}\n"
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(content) + reference)


def file_revision(task: str, folder: Path) -> dict[str, str]:
    """What identifies the items of a task: the file and the SHA-256 sum of its lines, compressed or not."""
    path = local_path(task, folder)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        digest = hashlib.sha256(file.read())
    return {"file": LOCAL_FILES[task].name, "sha256": digest.hexdigest()}
