"""Evaluate trained models: `python src/eval.py run=runs/RUN tasks=piqa,arc_easy,hellaswag`."""

import os
import sys

from lft.analysis import answer, choose, print_evaluations
from lft.errors import RequestError
from lft.evaluation import read_settings, setting_keys

STUDY_TASKS = "piqa,arc_easy,arc_challenge,hellaswag,winogrande,blimp,lambada_openai"
KEYS = {
    "run": "runs",
    "tasks": STUDY_TASKS,
    "checkpoints": "last",
    "baseline": "standard",
    "force": "false",
    **setting_keys(),
}


def evaluate(request: dict[str, str]) -> None:
    """Evaluate what has not been evaluated yet, then print the tables of all that was asked for."""
    settings = read_settings(request)
    force = choose("force", request["force"], ("true", "false")) == "true"
    # lm-eval and `datasets` would show many bars of things that take no time.
    os.environ.setdefault("TQDM_DISABLE", "1")
    from lft.evaluation.job import evaluate_runs

    tasks = [name.strip() for name in request["tasks"].split(",") if name.strip()]
    if not tasks:
        raise RequestError(f"tasks= names no task; give some, such as {STUDY_TASKS}")
    evaluate_runs(request["run"], tasks, request["checkpoints"], settings, force)
    every_checkpoint = request["checkpoints"] != "last"
    print_evaluations(request["run"], tasks, request["baseline"], every_checkpoint)


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], KEYS, evaluate))
