"""Notebooks kept as text (jupytext `py:percent`), executed without a Jupyter installation around them."""

import os
import sys
from pathlib import Path

import lft
from lft.errors import RequestError
from lft.runs import find_runs, write_text

RUNS_VARIABLE = "LFT_RUNS"


def runs_location() -> str:
    """Where a notebook finds its runs: `LFT_RUNS`, or `runs` in the repository the notebook lies in."""
    given = os.environ.get(RUNS_VARIABLE)
    if given:
        return given
    here = Path.cwd()
    # Jupyter starts a notebook in its own folder; an editor may start it at the repository's root.
    root = next((folder for folder in (here, *here.parents) if (folder / "notebooks").is_dir()), here)
    return str(root / "runs")


def execute(source: Path, target: Path, runs: str | Path) -> None:
    """Run a notebook over some runs with this interpreter, and write it with its outputs.

    Args:
        source: A notebook as jupytext text.
        target: The `.ipynb` to write.
        runs: A folder of run folders, a glob, or a run folder; need not be there for a notebook without runs.

    Raises:
        RequestError: The notebook is not there, the target is no `.ipynb`, or the runs are none or not such
            that the notebook could show them.
        nbclient.exceptions.CellExecutionError: A cell failed; nothing is written.
    """
    if not source.is_file():
        raise RequestError(f"no notebook at {source}")
    if target.suffix != ".ipynb":
        raise RequestError(f"out={target} must end in .ipynb")
    if runs_location.__name__ in source.read_text(encoding="utf-8"):
        find_runs(runs)

    # Imported here: a table on a terminal has no use for a kernel.
    import jupytext
    import nbformat
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    # No folder of kernel specs is looked at: one left by another environment may be named python3 too.
    # What remains is the kernel of this interpreter.
    manager = AsyncKernelManager(kernel_spec_manager=KernelSpecManager(kernel_dirs=[]), kernel_name="python3")
    notebook = jupytext.read(source)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=600,
        resources={"metadata": {"path": str(source.resolve().parent)}},
        # Errors of cells come back as such; what is left are remarks on the transport.
        extra_arguments=["--log-level=ERROR"],
    )
    try:
        client.execute(env=_environment(runs))
    except CellExecutionError as error:
        if error.ename == RequestError.__name__:
            raise RequestError(error.evalue) from error
        raise
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, nbformat.writes(notebook))


def _environment(runs: str | Path) -> dict[str, str]:
    # The kernel finds the package where this process did, installed or not.
    package = str(Path(lft.__file__).parents[1])
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {
        **os.environ,
        "PYTHONPATH": path,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        RUNS_VARIABLE: str(Path(runs).absolute()),
    }
