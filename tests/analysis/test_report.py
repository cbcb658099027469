"""The report, in a real browser: it draws, sorts, filters, and shows the tables' numbers."""

import re
import shutil

import pytest
from analysis.browser import needs_browser, opened
from analysis.evaluated import add_evaluation, choice_item
from analysis.synthetic import make_config, make_run, start_run

from lft.analysis import (
    comparison_table,
    deployment_table,
    order_effects,
    runs_table,
    scores_table,
    verdicts_table,
)
from lft.analysis.report import report_page, write_report
from lft.analysis.report.sections import cell_text
from lft.errors import RequestError

CLAIMS = {
    "better": {
        "statement": "LFT is <b>better</b>.",
        "arm": "lft",
        "baseline": "standard",
        "metric": "val_loss",
        "better": "lower",
        "smallest_effect": 0.01,
        "seeds": 3,
    }
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three arms, three seeds, an evaluation, a failed and an unfinished run."""
    location = tmp_path_factory.mktemp("report") / "runs"
    for seed in range(3):
        for routing, loss in (("standard", 5.0), ("lft", 4.9), ("deep", 4.8)):
            folder = make_run(location, routing, seed, loss + seed / 100, claims=CLAIMS)
            add_evaluation(folder, "piqa", [choice_item(item, item % 3 > 0) for item in range(6)])
    failed = start_run(location, make_config("loop", 0, claims=CLAIMS))
    failed.mark_failed("FloatingPointError: training diverged")
    start_run(location, make_config("loop", 1, claims=CLAIMS))
    return location


@pytest.fixture(scope="module")
def page_file(runs):
    target = runs.parent / "report.html"
    write_report(runs, target)
    return target


def cells(page, caption):
    """Headings, and the text of each row of a table."""
    table = page.get_by_role("table", name=caption, exact=True)
    headings = table.locator("thead th").all_inner_texts()
    return headings, [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]


@needs_browser
@pytest.mark.slow
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}])
def test_it_draws_without_network_or_complaint(page_file, look):
    with opened(page_file, **look) as (page, complaints):
        page.wait_for_selector(".chart .main-svg")
        lines = page.locator(".chart").first.locator(".scatterlayer .trace").count()
        # A line and a band for each arm, on the first axis; the loop has not validated.
        assert lines == 6
        assert complaints == []
        wider = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        assert not wider, "the page must not scroll sideways"
        page.emulate_media(media="print")
        assert page.locator("nav").is_hidden()


@needs_browser
@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_its_numbers_are_the_tables(runs, page_file):
    with opened(page_file) as (page, _):
        for caption, table in (
            ("Runs", runs_table(runs)),
            ("Claims", verdicts_table(runs)),
            ("Arms", comparison_table(runs)),
            ("Scores", scores_table(runs)),
        ):
            headings, rows = cells(page, caption)
            assert len(rows) == len(table)
            for shown, row in zip(rows, table.to_dict("records"), strict=True):
                expected = [" ".join(cell_text(row[name]).split()) for name in headings]
                assert [" ".join(text.split()) for text in shown] == expected


@needs_browser
@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_tables_sort_and_filter_and_legends_toggle(page_file):
    with opened(page_file) as (page, complaints):
        headings, rows = cells(page, "Runs")
        place = headings.index("val_loss")
        table = page.get_by_role("table", name="Runs", exact=True)
        button = table.locator("th button").nth(place)
        button.click()
        ascending = [row[place] for row in cells(page, "Runs")[1]]
        values = [float(text) for text in ascending if text]
        assert values == sorted(values) and ascending[-2:] == ["", ""]
        button.click()
        descending = [row[place] for row in cells(page, "Runs")[1]]
        assert [float(text) for text in descending if text] == values[::-1] and descending[-2:] == ["", ""]

        page.get_by_label("filter rows of Runs").fill("deep done")
        assert table.locator("tbody tr:visible").count() == 3
        assert page.get_by_text(f"3 of {len(rows)} rows").is_visible()

        chart = page.locator(".chart").first
        chart.locator(".main-svg").first.wait_for()
        chart.locator(".legendtoggle").first.click()
        page.wait_for_function(
            "document.querySelector('.chart').data.some((t) => t.visible === 'legendonly')"
        )
        chart.get_by_text("training FLOPs").first.click()
        page.wait_for_function(
            "document.querySelector('.chart').layout.xaxis.title.text === 'training FLOPs'"
        )
        assert complaints == []


def test_what_people_wrote_stays_text_and_what_failed_is_named(runs):
    page = report_page(runs)
    assert "LFT is &lt;b&gt;better&lt;/b&gt;." in page
    assert "failed: FloatingPointError: training diverged" in page
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=.http", page)


def test_runs_without_results_still_make_a_page(tmp_path):
    start_run(tmp_path / "runs", make_config("loop", 0))
    page = report_page(tmp_path / "runs")
    assert "Not shown: no run of the baseline &#39;standard&#39;" in page
    assert "No run has validated yet." in page and "No run is done yet." in page


def test_different_data_is_said(tmp_path):
    make_run(tmp_path / "runs", "standard", 0, 5.0)
    start_run(tmp_path / "runs", make_config("lft", 0), data={"fingerprint": "other"})
    page = report_page(tmp_path / "runs")
    assert "The runs read 2 different data sets; such runs are never paired." in page


def test_a_run_that_is_there_twice_is_refused(tmp_path):
    folder = make_run(tmp_path / "runs", "standard", 0, 5.0)
    shutil.copytree(folder.path, tmp_path / "runs" / "copy")
    for table in (report_page, order_effects, deployment_table):
        with pytest.raises(RequestError, match="are the same run; give a location with one of them"):
            table(tmp_path / "runs")


def test_losses_that_are_no_numbers_and_lines_cut_short_leave_a_page(tmp_path):
    make_run(tmp_path / "runs", "standard", 0, 5.0)
    diverged = make_run(tmp_path / "runs", "lft", 0, float("nan"))
    with (diverged.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 101, "tok')
    page = report_page(tmp_path / "runs")
    assert "val_loss is not a number, or not recorded" in page


def test_wrong_requests_are_refused(tmp_path, runs):
    with pytest.raises(RequestError, match=r"out=.*page.txt must end in .html"):
        write_report(runs, tmp_path / "page.txt")
    with pytest.raises(RequestError, match="no runs in"):
        write_report(tmp_path / "nowhere", tmp_path / "page.html")
