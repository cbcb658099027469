"""`metrics.jsonl`: the record of what was logged, one JSON object per line."""

import json
import os
from pathlib import Path
from typing import Any, BinaryIO

from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only


class MetricsFile(Logger):
    """Appends every logged row with its `step` and `tokens`.

    Args:
        path: The file; lines are added to what is there.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @property
    def version(self) -> str:
        """Not versioned."""
        return ""

    @property
    @rank_zero_experiment
    def experiment(self) -> Path:
        """The file."""
        return self.path

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Append one row."""
        row = {"step": step, "tokens": metrics["train/tokens"], **metrics}
        line = json.dumps(row) + "\n"
        with self.path.open("ab+") as file:
            # A kill may have cut the last line short; it must not swallow this one.
            if file.tell() and not self._ends_with_newline(file):
                line = "\n" + line
            file.write(line.encode())

    @staticmethod
    def _ends_with_newline(file: BinaryIO) -> bool:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Nothing: the config lies beside the file."""
