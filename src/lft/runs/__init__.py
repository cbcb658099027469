"""The run folder: identity, markers, records, locks; every reader and writer of runs comes through here."""

from lft.runs.folder import RunFolder, RunState, find_runs, write_json, write_text
from lft.runs.identity import config_hash, result_keys, run_id, token_label
from lft.runs.provenance import provenance

__all__ = [
    "RunFolder",
    "RunState",
    "config_hash",
    "find_runs",
    "provenance",
    "result_keys",
    "run_id",
    "token_label",
    "write_json",
    "write_text",
]
