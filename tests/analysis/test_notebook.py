"""A notebook is executed by this interpreter, on the runs that were named."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from analysis.synthetic import make_run

import lft
from lft.analysis import execute, runs_location
from lft.errors import RequestError

REPOSITORY = Path(lft.__file__).parents[2]
NOTEBOOK = REPOSITORY / "notebooks" / "pair.py"


@pytest.fixture
def runs(tmp_path):
    for seed in (0, 1):
        make_run(tmp_path / "runs", "standard", seed, 5.30)
        make_run(tmp_path / "runs", "lft", seed, 5.20 + 0.02 * seed)
    return tmp_path / "runs"


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


@pytest.mark.slow
def test_the_notebook_runs_and_holds_both_figures_and_the_paired_difference(runs, tmp_path):
    target = tmp_path / "out" / "pair.ipynb"
    program = REPOSITORY / "src" / "render_notebook.py"
    request = [f"source={NOTEBOOK}", f"runs={runs}", f"out={target}"]
    result = subprocess.run([sys.executable, program, *request], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{target}\n", "")
    notebook = nbformat.read(target, as_version=4)
    data = [output.get("data", {}) for output in outputs(notebook)]
    assert sum("image/png" in item for item in data) == 2
    text = "\n".join(item.get("text/plain", "") for item in data)
    assert "-0.0900" in text and "-0.2171 to +0.0371" in text


@pytest.mark.slow
def test_cells_run_in_this_interpreter(runs, tmp_path):
    source = tmp_path / "probe.py"
    source.write_text("# %%\nimport sys, lft\nprint(sys.executable)\nprint(lft.__file__)\n")
    execute(source, tmp_path / "probe.ipynb", runs)
    (output,) = outputs(nbformat.read(tmp_path / "probe.ipynb", as_version=4))
    assert output["text"].split() == [sys.executable, lft.__file__]


def test_wrong_requests_are_refused_before_a_kernel_starts(runs, tmp_path):
    with pytest.raises(RequestError, match="no notebook at"):
        execute(tmp_path / "missing.py", tmp_path / "out.ipynb", runs)
    with pytest.raises(RequestError, match="must end in"):
        execute(NOTEBOOK, tmp_path / "out.html", runs)
    with pytest.raises(RequestError, match="no runs in"):
        execute(NOTEBOOK, tmp_path / "out.ipynb", tmp_path / "nowhere")


def test_runs_are_found_beside_the_notebooks_unless_named(tmp_path, monkeypatch):
    monkeypatch.delenv("LFT_RUNS", raising=False)
    (tmp_path / "notebooks").mkdir()
    for folder in (tmp_path, tmp_path / "notebooks"):
        monkeypatch.chdir(folder)
        assert runs_location() == str(tmp_path / "runs")
    monkeypatch.setenv("LFT_RUNS", "elsewhere")
    assert runs_location() == "elsewhere"
