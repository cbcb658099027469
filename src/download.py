"""Fetch runs from Weights & Biases as run folders: `python src/download.py project=lft filter=arm=lft`."""

import sys
from pathlib import Path

from lft.analysis import answer
from lft.errors import RunFailed
from lft.tracking.download import download
from lft.tracking.filters import parse_filter

KEYS = {"project": "lft", "entity": "", "filter": "", "out": "runs"}


def fetch(request: dict[str, str]) -> None:
    """Fetch what is not there, a line for each run, and say when some could not be."""
    outcomes = []
    for outcome in download(
        request["project"], request["entity"], parse_filter(request["filter"]), Path(request["out"])
    ):
        print(f"{outcome.run}  {outcome.remark}", flush=True)
        outcomes.append(outcome)
    absent = sum(not outcome.is_there for outcome in outcomes)
    if absent:
        raise RunFailed(f"{absent} of {len(outcomes)} runs are not in {request['out']}; see above why")


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], KEYS, fetch))
