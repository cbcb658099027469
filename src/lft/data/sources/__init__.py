"""Where documents come from: each source yields texts in an order that never changes."""

from collections.abc import Iterator
from typing import Any, Protocol

from lft.data.config import DataConfig, FilesConfig, FineWebEduConfig, SampleConfig
from lft.data.sources.files import FileSource
from lft.data.sources.formats import read_records
from lft.data.sources.hub import Advice, ConnectionLost, HubSource, probe_dataset
from lft.data.sources.sample import SampleSource

__all__ = ["Advice", "ConnectionLost", "FileSource", "Source", "open_source", "probe_dataset", "read_records"]


class Source(Protocol):
    """A corpus as an ordered stream of documents."""

    def identity(self) -> dict[str, Any]:
        """All that decides which documents come, quick to find out; a prepared folder is named by it."""

    def description(self) -> dict[str, Any]:
        """Where the text is from, for the manifest."""

    def documents(self, skip: int = 0) -> Iterator[str]:
        """Yield the documents after the first `skip`."""


def open_source(config: DataConfig) -> Source:
    """The source a config asks for.

    Raises:
        RequestError: The source can be seen to be missing without reading it.
    """
    if isinstance(config, FineWebEduConfig):
        return HubSource(config)
    if isinstance(config, FilesConfig):
        return FileSource(config)
    if isinstance(config, SampleConfig):
        return SampleSource()
    raise TypeError(f"no source for a {type(config).__name__}")
