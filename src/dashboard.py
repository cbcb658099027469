"""Build a W&B workspace and report: `python src/dashboard.py project=lft scales=2_5m,10m,25m`."""

import sys

from lft.analysis import answer
from lft.tracking.dashboard import publish


def build(request: dict[str, str]) -> None:
    """Save both and say where they are."""
    scales = [scale.strip() for scale in request["scales"].split(",") if scale.strip()]
    for address in publish(request["entity"], request["project"], scales):
        print(address)


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], {"project": "lft", "entity": "", "scales": "2_5m,10m,25m"}, build))
