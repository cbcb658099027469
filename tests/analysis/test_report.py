"""The report, in a real browser: it draws, sorts, filters, and shows the tables' numbers."""

import json
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
from lft.analysis.report import report_page, write_figures, write_report
from lft.analysis.report.section import cell_text
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
        chart.get_by_text("FLOPs", exact=True).click()
        page.wait_for_function(
            "document.querySelector('.chart').layout.xaxis.title.text === 'training FLOPs'"
        )
        assert complaints == []


@needs_browser
@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_paper_is_white_and_the_choices_of_the_reader_stay(page_file):
    with opened(page_file, color_scheme="dark") as (page, complaints):
        chart = page.locator(".chart").first
        chart.locator(".main-svg").first.wait_for()
        chart.get_by_text("FLOPs", exact=True).click()
        page.wait_for_function(
            "document.querySelector('.chart').layout.xaxis.title.text === 'training FLOPs'"
        )
        looks = "[...document.querySelectorAll('.chart')].map((c) => c.data && c.layout.font.color)"
        assert page.evaluate(looks)[0] == "#e8e8e8"
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert set(page.evaluate(looks)) == {"#1a1a1a"}, "every chart is drawn, in black"
        first = "(() => { const c = document.querySelector('.chart'); return "
        assert page.evaluate(first + "c.layout.xaxis.title.text })()") == "training FLOPs"
        visible = page.evaluate(first + "c.data.map((t) => t.visible) })()")
        assert visible.count(True) == 6 and visible[0] is False
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert page.evaluate(looks)[0] == "#e8e8e8"
        assert complaints == []


@needs_browser
@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_on_paper_columns_of_one_value_are_words_and_no_table_is_cut(page_file):
    # The width of A4 on its side, less the margins, at 96 dots to an inch.
    with opened(page_file, viewport={"width": 1046, "height": 720}) as (page, _):
        page.emulate_media(media="print")
        table = page.get_by_role("table", name="Runs", exact=True)
        assert table.get_by_role("button", name="budget_tokens", exact=True).is_hidden()
        assert page.get_by_text(re.compile("In all rows: .*budget_tokens ")).first.is_visible()
        widths = page.locator("table").evaluate_all("tables => tables.map((t) => t.scrollWidth)")
        assert max(widths) <= 1046


@needs_browser
@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_a_phone_shows_all_buttons_and_whole_labels(page_file):
    with opened(page_file, viewport={"width": 390, "height": 844}) as (page, _):
        page.locator(".chart .main-svg").first.wait_for()
        for chart in page.locator(".chart").all():
            chart.scroll_into_view_if_needed()
            chart.locator(".main-svg").first.wait_for()
        for what in (".updatemenu-button", ".ytick text"):
            boxes = page.locator(what).evaluate_all("all => all.map((one) => one.getBoundingClientRect())")
            assert boxes and min(box["left"] for box in boxes) >= 0
            assert max(box["right"] for box in boxes) <= 390


def test_what_people_wrote_stays_text_and_what_failed_is_named(runs):
    page = report_page(runs)
    assert "</strong> LFT is &lt;b&gt;better&lt;/b&gt;." in page
    assert '<li class="supported"><strong>supported</strong>' in page
    assert "lft against standard by val_loss, 3 pairs." in page
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
    assert f"{diverged.name}: 1 damaged line of metrics.jsonl left out" in page


def test_costs_count_unfinished_runs_as_far_as_they_came(tmp_path):
    make_run(tmp_path / "runs", "standard", 0, 5.0)
    rest = make_run(tmp_path / "runs", "lft", 0, 5.0)
    (rest.path / "DONE").unlink()
    (rest.path / "summary.json").unlink()
    spent = runs_table(tmp_path / "runs")["train_flops"]
    assert spent.notna().all()
    assert f"{spent.sum():.3g} training FLOPs" in report_page(tmp_path / "runs")


def test_exports_and_energy_are_drawn_where_they_were_measured(tmp_path):
    run = make_run(tmp_path / "runs", "standard", 0, 5.0)
    page = report_page(tmp_path / "runs")
    assert "No finished run was exported" in page and "training energy (J)" not in page
    figures = {"format": "onnx", "machine": "a laptop", "file_bytes": 1000, "tokens_per_second": 100.0}
    figures |= {"checkpoint_tokens": run.read("summary.json")["train_tokens"], "resident_bytes": 2000}
    run.exports.mkdir()
    (run.exports / "onnx-1.json").write_text(json.dumps({**figures, "joules_per_token": 0.5}))
    page = report_page(tmp_path / "runs")
    assert "energy for each token (J)" in page and "time for each further token (s)" in page
    assert "time to the first token (s)" not in page


@pytest.mark.parametrize(
    ("out", "reason"),
    [("page.txt", "must end in .html"), ("folder.html", "is a folder"), ("file/page.html", "is a file")],
)
def test_a_page_that_cannot_be_written_is_refused_at_once(tmp_path, runs, out, reason):
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(RequestError, match=rf"out=.*{reason}"):
        write_report(runs, tmp_path / out)


def test_wrong_requests_are_refused(tmp_path, runs):
    with pytest.raises(RequestError, match="no runs in"):
        write_report(tmp_path / "nowhere", tmp_path / "page.html")
    with pytest.raises(RequestError, match=r"no run of the baseline 'foo' .*; the routings there: .*lft"):
        write_report(runs, tmp_path / "page.html", "foo")
    (tmp_path / "file").touch()
    with pytest.raises(RequestError, match=r"figures=.*file is a file; name a folder"):
        write_figures(runs, tmp_path / "file")
    assert not (tmp_path / "page.html").exists()
