"""Execute a notebook over runs: `render_notebook.py source=notebooks/pair.py runs=runs out=FILE.ipynb`."""

import sys
from pathlib import Path

from lft.analysis import answer, execute


def render(request: dict[str, str]) -> None:
    """Write the executed notebook and say where it is."""
    target = Path(request["out"])
    execute(Path(request["source"]), target, request["runs"])
    print(target)


if __name__ == "__main__":
    defaults = {"source": "notebooks/pair.py", "runs": "runs", "out": "notebooks/pair.ipynb"}
    sys.exit(answer(sys.argv[1:], defaults, render))
