"""`metrics.jsonl` as a data frame, fast enough for hundreds of runs."""

import io

import pandas as pd

from lft.runs import RunFolder


def metric_rows(folder: RunFolder) -> pd.DataFrame:
    """The logged rows in the order of their steps, one row a step.

    A resumed run logs the steps after its checkpoint again: the last write of each value wins. A line cut
    short by a kill is left out.

    Args:
        folder: The run.
    """
    import pyarrow
    from pyarrow import json

    path = folder.path / "metrics.jsonl"
    content = path.read_bytes() if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    if not whole:
        return pd.DataFrame()
    try:
        rows = json.read_json(io.BytesIO(whole)).to_pandas()
    except pyarrow.ArrowInvalid:
        # A damaged line, or a value that is not a number, which JSON proper has no word for.
        rows = pd.DataFrame(folder.read_metrics())
    if rows["step"].duplicated().any():
        rows = rows.groupby("step", as_index=False, sort=False).last()
    return rows.sort_values("step", ignore_index=True)
