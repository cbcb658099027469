"""Write a report on many runs: `python src/report.py runs=runs out=report.html figures=figures`."""

import sys
from pathlib import Path

from lft.analysis import answer, write_figures, write_report
from lft.analysis.report import check_folder

KEYS = {"runs": "runs", "out": "report.html", "baseline": "standard", "figures": ""}


def report(request: dict[str, str]) -> None:
    """Write the page, and figures for a paper when a folder is named, and say where they are."""
    target = Path(request["out"])
    if request["figures"]:
        check_folder(Path(request["figures"]))
    write_report(request["runs"], target, request["baseline"])
    print(target)
    if request["figures"]:
        for path in write_figures(request["runs"], Path(request["figures"]), request["baseline"]):
            print(path)


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], KEYS, report))
