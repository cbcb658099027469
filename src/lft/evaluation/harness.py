"""Tasks of the Language Model Evaluation Harness (lm-eval): found by name, and asked."""

import difflib
import json
import logging
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lm_eval.evaluator import evaluate
from lm_eval.tasks import TaskManager

from lft.data import Advice, probe_dataset
from lft.errors import RequestError
from lft.evaluation.answers import Answers, item_warnings
from lft.evaluation.harness_items import item_rows
from lft.evaluation.harness_model import HarnessModel
from lft.evaluation.local_files import LOCAL_FILES, file_definitions, file_revision, local_path
from lft.evaluation.scorer import Scorer
from lft.evaluation.settings import Settings

# Of lm-eval's own command line.
FEW_SHOT_SEED = 1234
ADVICE = Advice(
    "the task's definition",
    "the task's definition",
    "connect and try again, use what is cached with HF_HUB_OFFLINE=1, or evaluate local files with "
    "eval.source=files (make eval-data fetches them)",
)


@cache
def all_definitions() -> TaskManager:
    """Every task that lm-eval knows; reading their names takes some seconds."""
    return TaskManager()


@dataclass(frozen=True)
class HarnessTask:
    """A task, group or tag of lm-eval, with its prompts, choices and metrics.

    Attributes:
        name: As lm-eval calls it.
        settings: How it is asked.
    """

    name: str
    settings: Settings

    def identity(self) -> dict[str, Any]:
        """What decides the result beside the model.

        Raises:
            RequestError: There is no such task (the message has the nearest names), or no file of it.
        """
        settings = self.settings
        shared = {
            "lm_eval": metadata.version("lm_eval"),
            "limit": settings.limit,
            "too_long": settings.too_long,
        }
        if settings.source == "files":
            if self.name not in LOCAL_FILES:
                raise RequestError(_no_files(self.name))
            return {**shared, "data": file_revision(self.name, Path(settings.folder))}
        if self.name not in all_definitions().task_index:
            raise RequestError(f"there is no task '{self.name}'; {_nearest(self.name)}")
        return {**shared, "data": "hub"}

    def load(self) -> set[str]:
        """Get the items, once for all models; the names of the tasks they belong to.

        Raises:
            RequestError: They cannot be had.
        """
        return set(loaded_tasks(self.name, self.settings)["tasks"])

    def ask(self, scorer: Scorer) -> Answers:
        """What a model answers.

        Raises:
            RequestError: The items cannot be had, or one of them cannot be scored.
        """
        loaded = loaded_tasks(self.name, self.settings)
        model = HarnessModel(scorer)
        _seed()
        try:
            results = evaluate(model, loaded, limit=self.settings.limit or None, bootstrap_iters=0)
        except RequestError:
            raise
        # Tasks bring code of their own.
        except Exception as error:
            raise RequestError(
                f"lm-eval cannot ask task '{self.name}' ({type(error).__name__}: {error}); leave it out"
            ) from error
        assert results is not None, "one process gets the results"
        is_group = len(loaded["tasks"]) > 1
        items = [
            row
            for subtask, task in loaded["tasks"].items()
            for row in item_rows(task, subtask, results["samples"][subtask], model, is_group)
        ]
        facts = {
            "version": {subtask: results["versions"].get(subtask) for subtask in loaded["tasks"]},
            "few_shot": {subtask: results["n-shot"].get(subtask) for subtask in loaded["tasks"]},
            "revisions": {} if self.settings.source == "files" else _revisions(loaded),
            "results": json.loads(json.dumps(results["results"], default=str)),
        }
        return Answers(items, facts, item_warnings(items))


def _no_files(name: str) -> str:
    near = difflib.get_close_matches(name, LOCAL_FILES, n=2)
    hint = f"did you mean {', '.join(near)}? else " if near else ""
    return (
        f"there are no files for task '{name}'; {hint}choose among {', '.join(LOCAL_FILES)}, base_bench, "
        "bits_per_byte, loss_by_position, or use eval.source=hub for every task of lm-eval"
    )


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, all_definitions().all_tasks, n=5, cutoff=0.5)
    return f"did you mean {', '.join(near)}?" if near else "list all with: lm-eval ls tasks"


def _seed() -> None:
    """Seed what tasks draw from, such as the order of choices, as lm-eval's command line does."""
    random.seed(0)
    np.random.seed(1234)
    torch.manual_seed(1234)


@lru_cache
def loaded_tasks(name: str, settings: Settings) -> Any:
    """lm-eval's objects behind a name, with their items, as `TaskManager.load` returns them.

    Raises:
        RequestError: The items cannot be had.
    """
    _seed()
    with _definitions(name, settings) as manager:
        loaded = _load(manager, name, settings)
    for task in loaded["tasks"].values():
        if task.get_config("num_fewshot") is None:
            task.set_config("num_fewshot", 0)
        task.set_fewshot_seed(FEW_SHOT_SEED)
    return loaded


@contextmanager
def _definitions(name: str, settings: Settings) -> Iterator[TaskManager]:
    if settings.source == "files":
        with file_definitions(name, Path(settings.folder), settings.limit) as folder:
            yield TaskManager(include_path=folder, include_defaults=False)
    else:
        yield all_definitions()


def _load(manager: TaskManager, name: str, settings: Settings) -> Any:
    # What it says while it loads is for those who write tasks.
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    repository = _repository(manager, name)
    if settings.source == "hub" and repository and not os.environ.get("HF_HUB_OFFLINE"):
        probe_dataset(repository, None, ADVICE)
    try:
        return manager.load([name])
    except RequestError:
        raise
    # Loading runs code of the task, of `datasets` and of the network.
    except Exception as error:
        cause = f"cannot load task '{name}' ({type(error).__name__}: {error})"
        if settings.source == "files":
            path = local_path(name, Path(settings.folder))
            raise RequestError(f"{cause}; {path} has items that its definition cannot read") from error
        raise RequestError(f"{cause}; {ADVICE.unreachable}") from error


def _repository(manager: TaskManager, name: str) -> str | None:
    """A dataset of the Hub that the task, or the first one of a group, needs."""
    entry = manager.task_index.get(name)
    while entry and (members := (entry.cfg or {}).get("task")) and isinstance(members, list):
        first = members[0] if isinstance(members[0], str) else members[0].get("task")
        entry = manager.task_index.get(first) if isinstance(first, str) else None
    return (entry.cfg or {}).get("dataset_path") if entry else None


def _revisions(loaded: Any) -> dict[str, Any]:
    """The Hub's commit of each subtask's dataset, and `datasets`' fingerprint of what was asked."""
    found = {}
    for subtask, task in loaded["tasks"].items():
        documents = task.eval_docs
        sources = getattr(getattr(documents, "info", None), "download_checksums", None) or {}
        commits = {source.split("@")[1].split("/")[0] for source in sources if "@" in source}
        found[subtask] = {
            "dataset": task.DATASET_PATH,
            "revision": sorted(commits),
            "fingerprint": getattr(documents, "_fingerprint", None),
        }
    return found
