"""The W&B workspace and report: their specification, and that they reach a server."""

import os
import subprocess
import sys

import pytest
from composing import ROOT
from tracking.server import fake_server

from lft.analysis import ROUTING_COLOURS
from lft.tracking.dashboard import build_workspace
from lft.tracking.panels import panel_sections

SCALES = ["2_5m", "10m"]


def dashboard(*arguments, **environment):
    # Neither the tests' own settings nor a login of the person who runs them.
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("WANDB_")}
    return subprocess.run(
        [sys.executable, str(ROOT / "src/dashboard.py"), *arguments],
        env={**inherited, "HOME": "/nonexistent", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def workspace_specification():
    return build_workspace("me", "lft", SCALES)._to_model().spec.model_dump(by_alias=True, exclude_none=True)


def test_runs_are_grouped_by_scale_and_arm_and_drawn_against_tokens():
    section = workspace_specification()["section"]
    (runs,) = section["runSets"]
    assert [key["name"] for key in runs["grouping"]] == ["scale_name.value", "arm.value"]
    assert section["settings"]["xAxis"] == "train/tokens"
    assert [each["name"] for each in section["panelBankConfig"]["sections"]] == list(panel_sections())
    assert len(section["customRunColors"]) == len(SCALES) * len(ROUTING_COLOURS)
    assert set(section["customRunColors"].values()) == set(ROUTING_COLOURS.values())


def test_loss_is_shown_by_tokens_and_by_compute_with_bands_over_seeds():
    charts = [panel._to_model().config for panel in panel_sections()["Loss"]]
    axes = [(chart.x_axis, chart.metrics) for chart in charts]
    assert ("train/tokens", ["val/loss"]) in axes and ("train/flops", ["val/loss"]) in axes
    # Groups are those of the runs table; a grouping of the panel's own would pool the arms.
    assert {(chart.group_agg, chart.group_area, chart.group_by, chart.aggregate) for chart in charts} == {
        ("mean", "stddev", None, None)
    }


def test_without_an_account_it_says_so_and_where_to_look():
    result = dashboard()
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert "no account of Weights & Biases is configured" in line
    assert "wandb leet runs" in line and "notebooks/visits.py" in line


@pytest.mark.slow
def test_workspace_and_report_are_saved_and_their_addresses_printed():
    with fake_server() as (address, views):
        result = dashboard("scales=2_5m,10m", WANDB_BASE_URL=address, WANDB_API_KEY="0" * 40)
    assert result.returncode == 0, result.stderr
    assert [line.startswith(f"{address}/me/lft") for line in result.stdout.splitlines()] == [True, True]
    workspace, report = views
    assert (workspace["type"], report["type"]) == ("project-view", "runs")
    assert {view["entityName"] for view in views} == {"me"}
    panels = [
        panel["config"].get("chartTitle")
        for section in workspace["spec"]["section"]["panelBankConfig"]["sections"]
        for panel in section["panels"]
    ]
    assert panels == [panel.title for panels in panel_sections().values() for panel in panels]
    headings = [
        block["children"][0]["text"] for block in report["spec"]["blocks"] if block["type"] == "heading"
    ]
    assert headings == [*("Scale 2_5m", *panel_sections()), *("Scale 10m", *panel_sections())]
    chapters = [
        (str(runs["filters"]), runs["grouping"])
        for block in report["spec"]["blocks"]
        if block["type"] == "panel-grid"
        for runs in block["metadata"]["runSets"]
    ]
    assert len(chapters) == 2 * len(panel_sections())
    for number, (filters, grouping) in enumerate(chapters):
        assert "scale_name" in filters and ("2_5m", "10m")[number // len(panel_sections())] in filters
        assert "arm" in str(grouping)


@pytest.mark.slow
def test_a_refusal_of_the_server_is_one_line():
    with fake_server(refuse="upsertView") as (address, _):
        result = dashboard(WANDB_BASE_URL=address, WANDB_API_KEY="0" * 40)
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = [line for line in result.stderr.splitlines() if not line.startswith("wandb: ")]
    assert "did not take the dashboard of me/lft" in line and "permission denied" in line
