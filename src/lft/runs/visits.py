"""`visits.parquet`: the record of what each visit did, one row for each number."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lft.errors import RequestError
from lft.runs.folder import whole_or_absent

if TYPE_CHECKING:
    import pyarrow


def visits_schema() -> "pyarrow.Schema":
    """Columns of the file; blocks, visits and steps count from 1 and are null where a row concerns all."""
    # Imported where it is used: plans and tables of runs start without it.
    import pyarrow

    word, number = pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), pyarrow.int32()
    return pyarrow.schema(
        [
            ("tokens", pyarrow.int64()),
            ("block", number),
            ("visit", number),
            ("step", number),
            ("part", word),
            ("statistic", word),
            ("value", pyarrow.float64()),
        ]
    )


def read_visits(path: Path) -> "pyarrow.Table":
    """The rows of a file in the order of their writing; none where there is no file.

    Raises:
        RequestError: The file is damaged.
    """
    import pyarrow
    from pyarrow import parquet

    schema = visits_schema()
    try:
        return parquet.read_table(path, schema=schema) if path.exists() else schema.empty_table()
    except (pyarrow.ArrowException, OSError) as error:
        raise RequestError(f"{path} is damaged ({error}); move it away or restore it") from error


class VisitsFile:
    """Grows by the readings of one moment at a time, and is whole on disk after each.

    Args:
        path: The file; what it holds already is kept.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._table: pyarrow.Table | None = None

    def add(self, tokens: int, readings: Iterable[Mapping[str, Any]]) -> None:
        """Append readings at so many training tokens, given as the other columns.

        Rows of this and later moments are replaced: a resumed run measures them again.
        """
        import pyarrow
        from pyarrow import compute, parquet

        earlier = self._earlier() if self._table is None else self._table
        rows = [{"tokens": tokens, **reading} for reading in readings]
        pieces = [
            earlier.filter(compute.field("tokens") < tokens),
            pyarrow.Table.from_pylist(rows, visits_schema()),
        ]
        self._table = pyarrow.concat_tables(pieces).unify_dictionaries().combine_chunks()
        with whole_or_absent(self.path) as unfinished:
            parquet.write_table(self._table, unfinished, compression="zstd")

    def _earlier(self) -> "pyarrow.Table":
        try:
            return read_visits(self.path)
        except RequestError:
            # Kept beside the new one, for whoever wants to look at it.
            self.path.replace(self.path.with_name(f"{self.path.name}.damaged"))
            return read_visits(self.path)
