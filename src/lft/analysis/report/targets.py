"""What can be asked of a report; known before the work, not after it."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryFile

from lft.errors import RequestError


def check_page(target: Path) -> None:
    """Make sure that the page can be written.

    Raises:
        RequestError: It is no `.html`, a folder, or in a place that takes no file.
    """
    if target.is_dir():
        raise RequestError(f"out={target} is a folder; name a file, such as out={target / 'report.html'}")
    if target.suffix != ".html":
        raise RequestError(f"out={target} must end in .html")
    _check_place("out", target, target.parent)


def check_folder(folder: Path) -> None:
    """Make sure that figures can be written to a folder, which need not exist yet.

    Raises:
        RequestError: It is a file, or in a place that takes no file.
    """
    if folder.exists() and not folder.is_dir():
        raise RequestError(f"figures={folder} is a file; name a folder")
    _check_place("figures", folder, folder)


def _check_place(key: str, target: Path, folder: Path) -> None:
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise RequestError(f"{key}={target} cannot be written: {there} is a file")
    try:
        # Permissions do not tell of file systems that take no file; a file that vanishes does.
        with TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise RequestError(f"{key}={target} cannot be written: {there}: {error.strerror}") from None


def check_baseline(baseline: str, routings: Iterable[str], location: str | Path) -> None:
    """Make sure that there is something to subtract; runs on their way may not have come to the usual one.

    Raises:
        RequestError: No run is of a baseline that someone named.
    """
    present = sorted(set(routings))
    if baseline not in ("standard", *present):
        raise RequestError(
            f"no run of the baseline '{baseline}' in {location}; the routings there: {', '.join(present)}"
        )
