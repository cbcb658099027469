"""`metrics.jsonl` as a data frame, fast enough for hundreds of runs."""

import io

import pandas as pd

from lft.runs import RunFolder, RunState


def metric_rows(folder: RunFolder) -> tuple[pd.DataFrame, int]:
    """The logged rows in the order of their steps, one row a step; and how many damaged lines are left out.

    A resumed run logs the steps after its checkpoint again: the last write of each value wins. A run on its
    way may be writing its last line, which is not damaged then.

    Args:
        folder: The run.
    """
    path = folder.path / "metrics.jsonl"
    content = path.read_bytes() if path.exists() else b""
    end = content.rfind(b"\n") + 1
    rows = _whole_rows(content[:end])
    cut_short = bool(content[end:].strip()) and folder.state is not RunState.STARTED
    damaged = folder.count_damaged_lines() if rows is None or cut_short else 0
    if rows is None:
        rows = pd.DataFrame(folder.read_metrics())
    if rows.empty:
        return rows, damaged
    if rows["step"].duplicated().any():
        rows = rows.groupby("step", as_index=False, sort=False).last()
    return rows.sort_values("step", ignore_index=True), damaged


def _whole_rows(lines: bytes) -> pd.DataFrame | None:
    """All lines at once; None where one is damaged, or holds what JSON proper has no word for."""
    import pyarrow
    from pyarrow import json

    if not lines:
        return pd.DataFrame()
    try:
        # Files are read side by side; threads within one would only wait for each other.
        options = json.ReadOptions(use_threads=False, block_size=max(1, len(lines)))
        rows = json.read_json(io.BytesIO(lines), read_options=options).to_pandas()
    except pyarrow.ArrowInvalid:
        return None
    return rows if "step" in rows and pd.api.types.is_integer_dtype(rows["step"]) else None
