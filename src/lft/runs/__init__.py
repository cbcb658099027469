"""The run folder: identity, markers, records, locks; every reader and writer of runs comes through here."""

from lft.runs.checksums import file_sha256, recorded_checksum, write_checksum
from lft.runs.claims import Claim
from lft.runs.folder import (
    RECORD,
    RunFolder,
    RunState,
    find_runs,
    whole_or_absent,
    write_json,
    write_text,
)
from lft.runs.identity import ARM_KEYS, config_hash, result_keys, run_id, token_label
from lft.runs.items import (
    VALIDATION,
    WHOLE_TEXT,
    Evaluations,
    content_hash,
    read_evaluations,
    write_evaluation,
)
from lft.runs.provenance import machine, provenance
from lft.runs.settings import as_text, flatten, varying_keys
from lft.runs.visits import VisitsFile, read_visits

__all__ = [
    "ARM_KEYS",
    "RECORD",
    "VALIDATION",
    "WHOLE_TEXT",
    "Claim",
    "Evaluations",
    "RunFolder",
    "RunState",
    "VisitsFile",
    "as_text",
    "config_hash",
    "content_hash",
    "file_sha256",
    "find_runs",
    "flatten",
    "machine",
    "provenance",
    "read_evaluations",
    "read_visits",
    "recorded_checksum",
    "result_keys",
    "run_id",
    "token_label",
    "varying_keys",
    "whole_or_absent",
    "write_checksum",
    "write_evaluation",
    "write_json",
    "write_text",
]
