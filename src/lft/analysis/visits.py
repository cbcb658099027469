"""What each visit did, over any number of runs: `visits.parquet` as tables, averaged over seeds."""

import math
from pathlib import Path
from typing import Any

import pandas as pd

from lft.analysis.pairs import ARM_COLUMNS
from lft.analysis.records import RunRecord, read_records, refuse_repeats, setting_labels
from lft.errors import RequestError
from lft.runs import read_visits

# Runs are averaged over seeds where these are equal.
STEP_COLUMNS = ["step", "block", "visit"]
PAIR_STATISTIC = r"_cosine_v(\d+)$"


def visits_table(location: str | Path, unfinished: bool = False) -> pd.DataFrame:
    """Every reading of every finished run that has any.

    Args:
        location: A folder of run folders, a glob, or a run folder.
        unfinished: Whether runs that have not reached their end are there too.

    Returns:
        Columns `run_id routing scale budget_tokens settings seed`, and those of `visits.parquet`: `tokens
        block visit step part statistic value`; blocks, visits and steps count from 1 and are missing where
        a row concerns all of them. `settings` is what else tells runs of one scale and budget apart.

    Raises:
        RequestError: No run is there, the same run is there twice, or none is finished and has readings.
    """
    found = read_records(location)
    refuse_repeats(found)
    records = [record for record in found if record.is_done or unfinished]
    if not records:
        raise RequestError(
            f"no run in {location} is done; what one has measured so far is drawn in its folder pictures/"
        )
    records = [record for record in records if record.folder.visits.exists()]
    frames = [
        _run_visits(record, settings)
        for record, settings in zip(records, setting_labels(records), strict=True)
    ]
    if not frames:
        raise RequestError(f"no run in {location} has visits.parquet; train with diagnostics=default")
    return pd.concat(frames, ignore_index=True)


def visit_label(block: Any, visit: Any) -> str:
    """How people call a visit, such as `2·3` for the third visit of block 2."""
    return f"{block}·{visit}"


def last_readings(visits: pd.DataFrame, statistic: str, part: str = "block") -> pd.DataFrame:
    """Rows of one statistic at the last moment each run measured it."""
    return _latest(select(visits, statistic, part))


def select(visits: pd.DataFrame, statistic: str, part: str = "block") -> pd.DataFrame:
    """Rows of one statistic."""
    return visits[(visits["statistic"] == statistic) & (visits["part"] == part)]


def visit_means(visits: pd.DataFrame, statistic: str, part: str = "block") -> pd.DataFrame:
    """A statistic of every visit at the end of training: mean and spread over the seeds of an arm.

    Returns:
        The arm's columns and `step block visit mean sd seeds`, in the order of the steps; `sd` is missing
        where there is one seed.
    """
    rows = last_readings(visits, statistic, part).dropna(subset=["visit"])
    return _in_order_of_steps(_over_seeds(rows, STEP_COLUMNS))


def gradient_changes(visits: pd.DataFrame, statistic: str = "gradient_share") -> pd.DataFrame:
    """A statistic of every visit at the first, a middle and the last probe, averaged over seeds.

    Returns:
        The arm's columns and `step block visit first middle last`.
    """
    rows = select(visits, statistic).dropna(subset=["visit"]).copy()
    # A visit keeps its name where feedback starts late, but not its place in the route.
    rows["step"] = rows.groupby(["run_id", "block", "visit"])["step"].transform("last")
    moments = rows.groupby("run_id")["tokens"].unique()
    picked = {
        run: {sorted(tokens)[index]: name for name, index in _moments(len(tokens)).items()}
        for run, tokens in moments.items()
    }
    rows["moment"] = [
        picked[run].get(tokens) for run, tokens in zip(rows["run_id"], rows["tokens"], strict=True)
    ]
    means = rows.dropna(subset=["moment"]).pivot_table(
        index=[*ARM_COLUMNS, *STEP_COLUMNS], columns="moment", values="value", sort=False
    )
    table = means.reindex(columns=["first", "middle", "last"]).reset_index().rename_axis(columns=None)
    return _in_order_of_steps(table)


def visit_pairs(visits: pd.DataFrame, statistic: str = "gradient", part: str = "block") -> pd.DataFrame:
    """Cosines between the gradients of two visits of a block at the end of training, averaged over seeds.

    Args:
        visits: Rows from `visits_table`.
        statistic: `gradient`, or `adamw` for gradients under the optimizer's metric.
        part: The block, or `attention`, `mlp` or `norms`.

    Returns:
        The arm's columns and `block visit other_visit mean sd seeds`; empty without revisits.
    """
    names = visits["statistic"].str.extract(f"^{statistic}{PAIR_STATISTIC}")[0]
    pairs = visits.assign(other_visit=names.astype("Int64"))
    pairs = _latest(pairs[names.notna() & (pairs["part"] == part)])
    return _over_seeds(pairs, ["block", "visit", "other_visit"])


def skipped_steps(visits: pd.DataFrame) -> pd.DataFrame:
    """What the loss rises by when a step is skipped at the last milestone, in nats per token.

    Returns:
        The arm's columns and `step block visit mean error seeds`. `error` is the standard error over both
        sequences and, where an arm has several, seeds. Since all seeds see the same sequences, more seeds do
        not make the part of the sequences smaller.
    """
    return _differences(visits, "skip", STEP_COLUMNS, part="block")


def other_routes(visits: pd.DataFrame) -> pd.DataFrame:
    """What the loss rises by when the trained weights are run along another route, in nats per token.

    Returns:
        The arm's columns and `route mean error seeds`; errors as in `skipped_steps`.
    """
    rows = visits.assign(route=visits["part"])
    return _differences(rows, "route", ["route"], part=None)


def _differences(visits: pd.DataFrame, kind: str, columns: list[str], part: str | None) -> pd.DataFrame:
    rows = visits if part is None else visits[visits["part"] == part]
    rows = _latest(rows[rows["statistic"].isin([f"{kind}_difference", f"{kind}_difference_error"])])
    means = _over_seeds(rows[rows["statistic"] == f"{kind}_difference"], columns)
    errors = _over_seeds(rows[rows["statistic"] == f"{kind}_difference_error"], columns)
    both = means.merge(errors, "left", [*ARM_COLUMNS, *columns], suffixes=("", "_of_sequences"))
    of_seeds = (means["sd"] / means["seeds"].map(math.sqrt)).fillna(0.0)
    means["error"] = (of_seeds**2 + both["mean_of_sequences"] ** 2) ** 0.5
    return means[[*ARM_COLUMNS, *columns, "mean", "error", "seeds"]]


def _latest(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the last moment of every run."""
    return rows[rows["tokens"] == rows.groupby("run_id")["tokens"].transform("max")]


def _over_seeds(rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    groups = rows.groupby([*ARM_COLUMNS, *columns], sort=False)["value"]
    return groups.agg(mean="mean", sd="std", seeds="count").reset_index()


def _in_order_of_steps(table: pd.DataFrame) -> pd.DataFrame:
    """Sorted by step within each arm; the file holds gradients by block."""
    arms = [arm.sort_values("step") for _, arm in table.groupby(ARM_COLUMNS, sort=False)]
    return pd.concat(arms, ignore_index=True) if arms else table


def _moments(count: int) -> dict[str, int]:
    """Which of so many probes are the first, the middle and the last; fewer where there are fewer."""
    return {"first": 0, "middle": count // 2, "last": count - 1} if count > 2 else {"first": 0, "last": -1}


def _run_visits(record: RunRecord, settings: str) -> pd.DataFrame:
    import pyarrow

    nullable = {pyarrow.int32(): pd.Int32Dtype()}
    rows = read_visits(record.folder.visits).to_pandas(types_mapper=nullable.get)
    # As plain text, since the categories of runs differ.
    rows = rows.astype({"part": "str", "statistic": "str"})
    return pd.concat([pd.DataFrame(record.identity(settings), index=rows.index), rows], axis=1)
