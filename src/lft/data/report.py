"""What the person who waits for a preparation sees, on standard error."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SECONDS_BETWEEN_LINES = 30.0


class Report:
    """A progress bar on a terminal, a line now and then elsewhere, nothing when not wanted."""

    def __init__(self, name: str, wanted: bool) -> None:
        self.name, self.wanted = name, wanted
        self._bar: Any = None
        self._limit: int | None = None

    def say(self, text: str) -> None:
        """Print a line."""
        if self.wanted:
            print(f"{self.name}: {text}", file=sys.stderr, flush=True)

    @contextmanager
    def encoding(self, limit: int | None, done: int) -> Iterator[None]:
        """Show progress towards `limit` training tokens, of which `done` were there before."""
        self._limit = limit
        self._first_bytes: int | None = None
        self._started = self._last_line = time.monotonic()
        if not (self.wanted and sys.stderr.isatty()):
            yield
            return
        with _progress_bar() as self._bar:
            self._task = self._bar.add_task(self.name, total=limit, completed=done, speed="")
            yield
        self._bar = None

    def update(self, tokens: int, text_bytes: int) -> None:
        """Show the totals so far: training tokens, and bytes of text in both splits."""
        if self._first_bytes is None:
            self._first_bytes = text_bytes
        now = time.monotonic()
        read = text_bytes - self._first_bytes
        speed = f"{read / 1e6 / max(now - self._started, 1e-9):.1f} MB/s"
        if self._bar is not None:
            self._bar.update(self._task, completed=tokens, speed=speed)
        elif now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            goal = "" if self._limit is None else f" of {self._limit:,}"
            self.say(f"{tokens:,}{goal} tokens, {speed}")


def _progress_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tokens {task.fields[speed]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
