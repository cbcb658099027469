"""Show the runs of a folder: `python src/status.py runs=runs format=table|json|csv`."""

import sys

from lft.analysis import answer, choose, print_runs, runs_table


def show(request: dict[str, str]) -> None:
    """Print the table of runs in the format asked for."""
    choose("format", request["format"], ("table", "json", "csv"))
    table = runs_table(request["runs"])
    if request["format"] == "json":
        print(table.to_json(orient="records", indent=2, double_precision=15))
    elif request["format"] == "csv":
        print(table.to_csv(index=False), end="")
    else:
        print_runs(table)


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], {"runs": "runs", "format": "table"}, show))
