"""The noise floor: how far apart runs end that differ in nothing."""

from pathlib import Path

import pandas as pd

from lft.analysis.records import RunRecord, read_records
from lft.errors import RequestError
from lft.runs import varying_keys


def noise_floor(location: str | Path, reruns: str | Path, metric: str = "val_loss") -> pd.DataFrame:
    """How far apart runs of the same config, seed and text end, repeated in another folder.

    Args:
        location: Runs.
        reruns: The same runs, started again elsewhere (`paths.runs=...`).
        metric: A number of `summary.json`.

    Returns:
        One row a run that is done in both: `run_id`, `routing`, `seed`, both values and their `difference`.

    Raises:
        RequestError: A location has no run, no run is done in both, the two hold the same folder or other
            text, or the metric is not recorded.
    """
    again = {record.folder.name: record for record in read_records(reruns) if record.is_done}
    rows = []
    for record in read_records(location):
        if record.is_done and (rerun := again.get(record.folder.name)):
            _check_rerun(record, rerun, metric)
            values = {"value": record.summary[metric], "rerun_value": rerun.summary[metric]}
            rows.append(
                {"run_id": record.folder.name, "routing": record.routing, "seed": record.seed, **values}
            )
    if not rows:
        raise RequestError(f"no run is done in both {location} and {reruns}; start some again (paths.runs=)")
    table = pd.DataFrame(rows, columns=["run_id", "routing", "seed", "value", "rerun_value"])
    return table.assign(difference=table["rerun_value"] - table["value"])


def _check_rerun(record: RunRecord, rerun: RunRecord, metric: str) -> None:
    if record.folder.path.resolve() == rerun.folder.path.resolve():
        raise RequestError(f"{record.folder.path} is in both locations; name runs that were started twice")
    if differing := varying_keys([record.conditions, rerun.conditions]):
        raise RequestError(
            f"{record.folder.path} and {rerun.folder.path} differ in {', '.join(differing)}; "
            "name runs that repeat each other"
        )
    for run in (record, rerun):
        if not isinstance(run.summary.get(metric), int | float):
            raise RequestError(f"{run.folder.path} recorded no number '{metric}'; name one of summary.json")
