"""From a run folder to the items of its evaluations, written into it."""

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from typing import Any, Protocol

from lft.errors import RequestError, RunFailed
from lft.evaluation.answers import Answers
from lft.evaluation.base_bench import BaseBench
from lft.evaluation.harness import HarnessTask
from lft.evaluation.scorer import Scorer
from lft.evaluation.settings import Settings
from lft.evaluation.texts import BitsPerByte, LossByPosition
from lft.inference import checkpoint_sha256, choose_milestones, load_trained, milestones
from lft.runs import RunFolder, as_text, find_runs, provenance, read_evaluations, write_evaluation

OWN_TASKS = {kind.name: kind for kind in (BaseBench, BitsPerByte, LossByPosition)}
PACKAGES = ("torch", "lm_eval", "tokenizers", "datasets")


class EvaluationTask(Protocol):
    """Something that a model can be asked."""

    @property
    def name(self) -> str:
        """What the task is called; its items lie in `evals/<name>.parquet`."""

    def identity(self) -> dict[str, Any]:
        """What decides the result beside the model; quick, and complains of what is missing."""

    def load(self) -> set[str]:
        """Get the items, so that what is missing shows before the work begins; the names of their tasks."""

    def ask(self, scorer: Scorer) -> Answers:
        """What a model answers."""


def evaluate_runs(
    location: str, tasks: Sequence[str], checkpoints: str, settings: Settings, force: bool = False
) -> None:
    """Ask runs tasks and write the answers into their folders; what is there already is left alone.

    Args:
        location: A run folder, a folder of them, or a glob.
        tasks: Names of tasks: lm-eval's, `base_bench`, `bits_per_byte`, `loss_by_position`.
        checkpoints: `last`, `all`, or training tokens, comma-separated.
        settings: How to ask.
        force: Whether an evaluation made with other settings is replaced.

    Raises:
        RequestError: A run, checkpoint, task or file is missing or damaged, or something was asked before
            with other settings.
        RunFailed: An item could not be scored after other tasks were written.
    """
    evaluator = Evaluator([_find_task(name, settings) for name in dict.fromkeys(tasks)], settings, force)
    # All that can be known to be wrong is said before the work begins.
    pending = [
        (folder, tokens, evaluator.pending(folder, tokens))
        for folder, chosen in _checkpoints(find_runs(location, key="run"), checkpoints).items()
        for tokens in chosen
    ]
    _load({name: evaluator.tasks[name] for _, _, asked in pending for name in asked})
    for folder, tokens, asked in pending:
        evaluator.evaluate(folder, tokens, asked)


def _checkpoints(folders: Sequence[RunFolder], checkpoints: str) -> dict[RunFolder, list[int]]:
    """The checkpoints to evaluate; among several runs, those that have none are left out and named."""
    chosen: dict[RunFolder, list[int]] = {}
    missing: list[RequestError] = []
    for folder in folders:
        try:
            chosen[folder] = choose_milestones(folder, checkpoints)
        except RequestError as error:
            missing.append(error)
    if not chosen:
        raise missing[0]
    for reason in missing:
        print(f"left out: {reason}", file=sys.stderr)
    return chosen


def _load(tasks: dict[str, EvaluationTask]) -> None:
    """Get the items of all tasks, none of which may be asked twice: they would count twice in an average."""
    owners: dict[str, str] = {}
    for name, task in tasks.items():
        for member in task.load():
            if owners.setdefault(member, name) != name:
                raise RequestError(f"{member} is part of both {owners[member]} and {name}; ask one of them")


def _find_task(name: str, settings: Settings) -> EvaluationTask:
    return OWN_TASKS[name](settings) if name in OWN_TASKS else HarnessTask(name, settings)


class Evaluator:
    """Asks runs tasks, and leaves alone what has been asked before.

    Args:
        tasks: What to ask.
        settings: How to ask.
        force: Whether an evaluation made with other settings is replaced.

    Raises:
        RequestError: A task or its data is missing.
    """

    def __init__(self, tasks: Sequence[EvaluationTask], settings: Settings, force: bool = False) -> None:
        self.tasks = {task.name: task for task in tasks}
        self.settings = settings
        self.force = force
        self._asked = {task.name: task.identity() for task in tasks}
        self._wrote = False

    def pending(self, folder: RunFolder, tokens: int) -> dict[str, dict[str, Any]]:
        """The identities of the evaluations that are not there yet, by their tasks.

        Raises:
            RequestError: One is there with other settings, and is not to be replaced.
        """
        checkpoint = milestones(folder)[tokens]
        model = {
            "checkpoint_sha256": checkpoint_sha256(checkpoint),
            "tokenizer_sha256": folder.read("run.json")["data"]["tokenizer_sha256"],
            "precision": self.settings.precision,
        }
        pending = {}
        for name, asked in self._asked.items():
            identity = {"task": name, **model, **asked}
            path = folder.items(name)
            made = read_evaluations(path).provenance.get(tokens)
            if made is None or (made["identity"] != identity and self.force):
                pending[name] = identity
            elif made["identity"] != identity:
                raise RequestError(
                    f"{path} was made after {tokens:,} tokens with {_changes(made['identity'], identity)}; "
                    "ask as before, or set force=true to replace it"
                )
            else:
                print(f"{folder.name} after {tokens:,} tokens: {name} is there already", file=sys.stderr)
        return pending

    def evaluate(self, folder: RunFolder, tokens: int, pending: dict[str, dict[str, Any]]) -> None:
        """Ask a checkpoint what is pending and write each task's items as soon as they are there.

        Raises:
            RequestError: The checkpoint is damaged, or an item cannot be scored.
        """
        if not pending:
            return
        scorer = Scorer(load_trained(folder.path, str(tokens)), self.settings)
        for name, identity in pending.items():
            print(f"{folder.name} after {tokens:,} tokens: {name}", file=sys.stderr)
            start = time.perf_counter()
            answers = self._ask(name, scorer)
            record = {
                "identity": identity,
                **answers.facts,
                "run": folder.name,
                "checkpoint": scorer.trained.checkpoint.name,
                "settings": asdict(self.settings),
                "device": scorer.model.embedding.weight.device.type,
                "seconds": time.perf_counter() - start,
                "packages": {package: metadata.version(package) for package in PACKAGES},
                "git": provenance()["git"],
                "warnings": answers.warnings,
            }
            write_evaluation(folder.items(name), tokens, answers.items, record)
            self._wrote = True

    def _ask(self, name: str, scorer: Scorer) -> Answers:
        try:
            return self.tasks[name].ask(scorer)
        except RequestError as error:
            if self._wrote:
                raise RunFailed(f"{error} (what was evaluated before is kept)") from error
            raise


def _changes(made: dict[str, Any], asked: dict[str, Any]) -> str:
    """In what two ways of asking differ, in words."""
    keys = [key for key in asked if asked[key] != made.get(key)]
    return ", ".join(f"{key} {as_text(made.get(key))} (now {as_text(asked[key])})" for key in keys)
