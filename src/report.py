"""Write a report on many runs as one HTML file: `python src/report.py runs=runs out=report.html`."""

import sys
from pathlib import Path

from lft.analysis import answer, write_report

KEYS = {"runs": "runs", "out": "report.html", "baseline": "standard"}


def report(request: dict[str, str]) -> None:
    """Write the page and say where it is."""
    target = Path(request["out"])
    write_report(request["runs"], target, request["baseline"])
    print(target)


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], KEYS, report))
