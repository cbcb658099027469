import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from analysis.synthetic import log_curve, make_config, make_run, start_run

import lft
from lft.analysis import parse_request, print_runs, runs_table
from lft.errors import RequestError

SOURCE = Path(lft.__file__).parents[1]
pytestmark = pytest.mark.slow


def status(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, SOURCE / "status.py", *arguments], cwd=cwd, capture_output=True, text=True
    )


@pytest.fixture
def runs(tmp_path):
    make_run(tmp_path / "runs", "standard", 0, 5.3125)
    make_run(tmp_path / "runs", "lft", 0, 5.25)
    log_curve(start_run(tmp_path / "runs", make_config("lft", 1)), 5.3, 60)
    start_run(tmp_path / "runs", make_config("lft", 2)).mark_failed("Traceback\nValueError: no luck")
    return tmp_path / "runs"


def test_the_table_shows_every_run_within_eighty_columns(runs):
    result = status(cwd=runs.parent)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(lines[2].split()) == "standard nano 0 850k 100 100k 5.3125 1.7708 5,000 1.00 done"
    assert lines[4].split()[-2:] == ["at", "60%"]
    assert lines[5].split()[-1] == "failed"
    assert lines[-1].endswith("failed: ValueError: no luck")


@pytest.mark.parametrize("columns", ["20", "80", "200"])
def test_no_value_is_cut_on_any_line_length(runs, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    file = io.StringIO()
    print_runs(runs_table(runs), file)
    assert "…" not in file.getvalue()
    for value in ("5.3125", "1.7708", "5,000", "850k", "standard", "done"):
        assert value in file.getvalue()


def test_json_and_csv_have_one_entry_a_run(runs):
    records = json.loads(status(f"runs={runs}", "format=json").stdout)
    assert [record["seed"] for record in records] == [0, 0, 1, 2]
    assert records[0]["val_loss"] == 5.3125 and records[3]["val_loss"] is None
    assert records[2]["steps"] == 60
    rows = list(csv.DictReader(io.StringIO(status(f"runs={runs}", "format=csv").stdout)))
    assert [row["run_id"] for row in rows] == [record["run_id"] for record in records]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("runs=nowhere", "no runs in nowhere"),
        ("format=xml", "format=xml is not one of table, json, csv"),
        ("run=runs", "unknown key 'run'; the keys are runs, format"),
        ("runs", "'runs' is not key=value"),
    ],
)
def test_a_wrong_request_is_answered_in_one_line_with_code_2(runs, argument, message):
    result = status(argument, cwd=runs.parent)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1 and message in result.stderr


def test_a_closed_pipe_leaves_no_traceback(runs):
    command = f"{sys.executable} {SOURCE / 'status.py'} runs={runs} format=json | head -c 1"
    assert subprocess.run(command, shell=True, capture_output=True, text=True).stderr == ""


def test_requests_take_defaults_and_values_with_equals_signs():
    assert parse_request(["b=x=y"], {"a": "1", "b": "2"}) == {"a": "1", "b": "x=y"}
    with pytest.raises(RequestError, match="given twice"):
        parse_request(["a=1", "a=2"], {"a": "0"})
