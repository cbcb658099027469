"""The run folder: identity, markers, records, locks; every reader and writer of runs comes through here."""

from lft.runs.folder import RunFolder, RunState, find_runs, write_json, write_text
from lft.runs.identity import (
    RESULT_FREE_DATA_KEYS,
    RESULT_FREE_KEYS,
    config_hash,
    run_id,
    token_label,
)
from lft.runs.provenance import provenance

__all__ = [
    "RESULT_FREE_DATA_KEYS",
    "RESULT_FREE_KEYS",
    "RunFolder",
    "RunState",
    "config_hash",
    "find_runs",
    "provenance",
    "run_id",
    "token_label",
    "write_json",
    "write_text",
]
