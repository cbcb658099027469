"""Write a trained model so that others can load it: `python src/export.py run=runs/RUN format=lft`."""

import sys
from pathlib import Path

from lft.analysis import answer, choose

NOWHERE = "-"
KEYS = {"run": "runs", "checkpoint": "last", "format": "lft", "out": NOWHERE, "push": NOWHERE}


def write(request: dict[str, str]) -> None:
    """Write the folder, upload it when asked, and print where it is and what it takes to run."""
    from lft.export import FORMATS, check_account, deployment_facts, export, push
    from lft.inference import load_trained

    kind = choose("format", request["format"], tuple(FORMATS))
    hub = check_account() if request["push"] != NOWHERE else None
    trained = load_trained(request["run"], request["checkpoint"])
    default = Path("exports") / f"{trained.folder.name}-{kind}"
    folder = default if request["out"] == NOWHERE else Path(request["out"])
    figures = export(trained, FORMATS[kind], folder)
    print(folder)
    for name, fact in deployment_facts(figures).items():
        print(f"{name}: {fact}", file=sys.stderr)
    if hub:
        print(push(hub, folder, request["push"]))


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], KEYS, write))
