"""Datasets of the Hugging Face Hub, streamed."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from lft.data.config import FineWebEduConfig
from lft.data.sources.fields import text_of
from lft.errors import RequestError

PROBE_SECONDS = 10.0


class ConnectionLost(RequestError):
    """The Hub does not answer; what was prepared so far is still good."""


@dataclass(frozen=True)
class Advice:
    """What to change, in words, when a dataset cannot be had.

    Attributes:
        repository: What names it.
        revision: What names its revision.
        unreachable: What to do without the Hub.
    """

    repository: str
    revision: str
    unreachable: str


ADVICE = Advice(
    "data.repository",
    "data.revision",
    "connect and try again, or prepare on a connected machine and copy the prepared folder here, or use "
    "data=sample, or data=files data.paths=[...]",
)


class HubSource:
    """A streamed dataset of the Hub, or of a local folder laid out like one."""

    def __init__(self, config: FineWebEduConfig) -> None:
        self.config = config
        self.local = Path(config.repository).is_dir()

    def identity(self) -> dict[str, Any]:
        """The dataset as configured; a local folder has no revision, so its files are listed instead."""
        return {
            "kind": "hub",
            "repository": self.config.repository,
            "subset": self.config.subset,
            "revision": self._local_files() if self.local else self.config.revision,
            "split": self.config.split,
            "text_field": self.config.text_field,
        }

    def description(self) -> dict[str, Any]:
        """The dataset as configured."""
        return self.identity()

    def documents(self, skip: int = 0) -> Iterator[str]:
        """Yield the documents after the first `skip`.

        Raises:
            ConnectionLost: The Hub cannot be reached, or not any more.
            RequestError: There is no such dataset, subset or split, or a record holds no text.
        """
        if not self.local:
            probe_dataset(self.config.repository, self.config.revision, ADVICE)
        rows = iter(self._open(skip))
        for number in count(skip + 1):
            try:
                row = next(rows)
            except StopIteration:
                return
            except Exception as error:
                raise self._broken(error) from error
            yield text_of(row, self.config.text_field, f"{self.config.repository} record {number}")

    def _local_files(self) -> list[list[Any]]:
        folder = Path(self.config.repository)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return [
            [str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns] for path in files
        ]

    def _open(self, skip: int) -> Any:
        import datasets

        config = self.config
        revision = {} if self.local else {"revision": config.revision}
        try:
            stream = datasets.load_dataset(
                config.repository, config.subset, split=config.split, streaming=True, **revision
            )
        except Exception as error:
            raise self._broken(error) from error
        return stream.skip(skip) if skip else stream

    def _broken(self, error: Exception) -> RequestError:
        # A wrong name is a ValueError, and so is unreadable data; the rest is the network's doing.
        if self.local or isinstance(error, ValueError):
            return RequestError(
                f"cannot read the dataset {self.config.repository} ({_brief(error)}); check data.repository, "
                "data.subset and data.split"
            )
        return _unreachable(self.config.repository, error, ADVICE)


def probe_dataset(repository: str, revision: str | None, advice: Advice) -> None:
    """Make sure that a dataset of the Hub can be had, and soon know when it cannot.

    Raises:
        ConnectionLost: The Hub cannot be reached.
        RequestError: There is no such dataset or revision, or it is not open to this account.
    """
    # `datasets` retries for half a minute before it admits that there is no network.
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        HfApi().dataset_info(repository, revision=revision, timeout=PROBE_SECONDS)
    except GatedRepoError as error:
        raise RequestError(
            f"the dataset {repository} is open only to accounts that asked for it; ask for access "
            "on its page and log in with: hf auth login"
        ) from error
    except RepositoryNotFoundError as error:
        raise RequestError(
            f"there is no dataset {repository} on the Hub; check {advice.repository}"
        ) from error
    except RevisionNotFoundError as error:
        raise RequestError(
            f"the dataset {repository} has no revision {revision}; check {advice.revision}"
        ) from error
    except Exception as error:
        raise _unreachable(repository, error, advice) from error


def _unreachable(repository: str, error: Exception, advice: Advice) -> ConnectionLost:
    return ConnectionLost(
        f"cannot reach the Hugging Face Hub for {repository} ({_brief(error)}); {advice.unreachable}"
    )


def _brief(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text if len(text) <= 200 else text[:200] + '…'}"
