"""`evals/<task>.parquet`: what a run answered to every item of a task, and how it was asked."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from lft.errors import RequestError
from lft.runs.folder import whole_or_absent

if TYPE_CHECKING:
    import pyarrow

PROVENANCE = b"evaluations"
# The task that training itself asks: the sequences that a run validates on.
VALIDATION = "validation"
# Of items that are scored as whole texts, in lm-eval's words.
WHOLE_TEXT = "loglikelihood_rolling"


@dataclass(frozen=True)
class Evaluations:
    """All evaluations of one task in one run.

    Attributes:
        items: Rows of `items_schema`.
        provenance: By the checkpoint's training tokens: checkpoint, tokenizer, task, data and settings.
    """

    items: "pyarrow.Table"
    provenance: dict[int, dict[str, Any]]


def content_hash(content: bytes) -> str:
    """Enough of an item's SHA-256 to know it by."""
    return hashlib.sha256(content).hexdigest()[:16]


def items_schema() -> "pyarrow.Schema":
    """Columns of the file.

    `item` and `content` (a hash of it) name an item within its `subtask`; `output_type` is what was asked,
    in lm-eval's words. Lists have an entry for every choice: the sum of its log-probabilities in nats, the
    tokens that were scored, and the bytes and characters of the choice as the task words it (of a whole text,
    the bytes that lm-eval divides by); a text that was only scored is a single choice. `labels` are the right
    choices, `prediction` the one chosen, counted from 0; null where there is nothing to choose. `cluster` is
    shared by items about the same passage. `truncated_tokens` were cut from the left of the longest choice's
    context. `metrics` are the item's own.
    """
    import pyarrow

    word, count = pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), pyarrow.int32()
    return pyarrow.schema(
        [
            ("checkpoint_tokens", pyarrow.int64()),
            ("subtask", word),
            ("output_type", word),
            ("item", pyarrow.int64()),
            ("content", pyarrow.string()),
            ("category", word),
            ("difficulty", word),
            ("cluster", pyarrow.string()),
            ("log_probabilities", pyarrow.list_(pyarrow.float64())),
            ("tokens", pyarrow.list_(count)),
            ("bytes", pyarrow.list_(count)),
            ("characters", pyarrow.list_(count)),
            ("labels", pyarrow.list_(count)),
            ("prediction", count),
            ("right", pyarrow.bool_()),
            ("response", pyarrow.string()),
            ("chance", pyarrow.float64()),
            ("weight", pyarrow.float64()),
            ("item_elo", pyarrow.float64()),
            ("truncated_tokens", count),
            ("metrics", pyarrow.map_(pyarrow.string(), pyarrow.float64())),
        ]
    )


def read_evaluations(path: Path) -> Evaluations:
    """What a file holds; nothing where there is no file.

    Raises:
        RequestError: The file is damaged.
    """
    import pyarrow
    from pyarrow import parquet

    if not path.exists():
        return Evaluations(items_schema().empty_table(), {})
    try:
        table = parquet.read_table(path).cast(items_schema())
        provenance = json.loads(parquet.read_schema(path).metadata[PROVENANCE])
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise RequestError(f"{path} is damaged ({error}); move it away or restore it") from error
    return Evaluations(table, {int(tokens): entry for tokens, entry in provenance.items()})


def write_evaluation(
    path: Path, tokens: int, items: Iterable[Mapping[str, Any]], provenance: Mapping[str, Any]
) -> None:
    """Add the evaluation of a checkpoint, in place of an earlier one of the same checkpoint.

    Args:
        path: The task's file; its folder is made when it is missing.
        tokens: Training tokens of the checkpoint.
        items: Rows of `items_schema` but for `checkpoint_tokens`.
        provenance: What decides and describes the result; JSON.
    """
    import pyarrow
    from pyarrow import compute, parquet

    path.parent.mkdir(exist_ok=True)
    new = pyarrow.Table.from_pylist([{"checkpoint_tokens": tokens, **row} for row in items], items_schema())
    # Another process may be evaluating another checkpoint of the run.
    lock = path.with_name(f".{path.name}.lock")
    with FileLock(lock):
        earlier = read_evaluations(path)
        kept = earlier.items.filter(compute.field("checkpoint_tokens") != tokens)
        table = pyarrow.concat_tables([kept, new]).unify_dictionaries().sort_by("checkpoint_tokens")
        entries = {**earlier.provenance, tokens: dict(provenance)}
        metadata = {PROVENANCE: json.dumps({str(key): entries[key] for key in sorted(entries)}).encode()}
        with whole_or_absent(path) as unfinished:
            parquet.write_table(table.replace_schema_metadata(metadata), unfinished, compression="zstd")
        lock.unlink(missing_ok=True)
