"""Every notebook, on the run folders of a small study."""

from functools import cache
from pathlib import Path

import nbformat
import pytest

import lft
from lft.analysis import (
    comparison_table,
    deployment_table,
    differences_over_seeds,
    execute,
    exports_table,
    scores_table,
    verdicts_table,
    visits_table,
)

FOLDER = Path(lft.__file__).parents[2] / "notebooks"
# Figures that such a study allows; a machine that meters its energy adds some.
PICTURES = {"pair": 2, "controls": 3, "study": 12, "tasks": 1, "visits": 6, "published_results": 0}
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("notebooks")]


@pytest.fixture(scope="module")
def rendered(study, tmp_path_factory):
    """Renders a notebook by its name: the text that its cells show, and how many pictures."""
    target = tmp_path_factory.mktemp("rendered")

    @cache
    def render(name):
        execute(FOLDER / f"{name}.py", target / f"{name}.ipynb", study)
        cells = nbformat.read(target / f"{name}.ipynb", as_version=4).cells
        outputs = [output for cell in cells for output in cell.get("outputs", [])]
        data = [output.get("data", {}) for output in outputs]
        text = "".join(output.get("text", "") for output in outputs)
        text += "".join(item.get("text/plain", "") for item in data)
        return text, sum("image/png" in item for item in data)

    return render


def test_every_notebook_is_here():
    assert set(PICTURES) == {path.stem for path in FOLDER.glob("*.py")}


@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_shows_its_figures(rendered, name):
    assert rendered(name)[1] >= PICTURES[name]


def test_the_study_says_what_cannot_be_told(rendered):
    text, _ = rendered("study")
    assert "not identified" in text and "no arm differs in revisits; there is nothing to draw" in text


def test_the_published_numbers_carry_their_uncertainty(rendered):
    text, _ = rendered("published_results")
    assert "1.19" in text and "0.23" in text


def test_every_question_has_an_answer_in_numbers(study):
    (verdict,) = verdicts_table(study).to_dict("records")
    assert verdict["pairs"] == 2 and verdict["outcome"] in ("supported", "refuted", "undecided")
    comparison = comparison_table(study).set_index("routing")
    assert set(comparison.index) == {"lft", "loop", "deep"} and comparison["low"].notna().all()
    both = differences_over_seeds(study, ["validation"]).set_index("routing")
    nats = both[both["metric"] == "nats_per_token"]
    assert dict(nats["difference"]) == pytest.approx(dict(comparison["difference"]), abs=1e-6)
    assert (nats["item_error"] > 0).all() and (nats["low"] < comparison["low"].reindex(nats.index)).all()
    assert set(deployment_table(study)["runs"]) == {2}
    (exported,) = exports_table(study).to_dict("records")
    assert exported["routing"] == "deep" and exported["resident_bytes"] > 0
    assert set(scores_table(study, ["piqa"])["routing"]) == {"standard", "lft", "loop", "deep"}
    assert visits_table(study)["run_id"].nunique() == 8
