"""A progress bar that counts tokens."""

import time
from typing import Any

import lightning
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from lft.training.callbacks import StepCallback
from lft.training.language_model import LanguageModel


class TokenProgress(StepCallback):
    """Tokens, loss, tokens per second and time left; plain lines where no terminal shows a bar.

    Args:
        refresh_seconds: Time between updates of the bar; reading the loss waits for the device.
        line_seconds: Time between plain lines.
    """

    def __init__(self, refresh_seconds: float = 0.5, line_seconds: float = 15.0) -> None:
        super().__init__()
        self.console = Console(stderr=True)
        self.interval = refresh_seconds if self.console.is_terminal else line_seconds
        self._progress: Progress | None = None
        self._shown = (0.0, 0)

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        """Show the bar."""
        super().on_train_start(trainer, module)
        assert isinstance(module, LanguageModel)
        self._shown = (time.perf_counter(), module.tokens_seen)
        if trainer.is_global_zero and self.console.is_terminal:
            self._progress = Progress(
                TextColumn("{task.fields[tokens]}"),
                BarColumn(),
                TextColumn("loss {task.fields[loss]:.3f}  {task.fields[rate]:,.0f} tokens/s"),
                TimeRemainingColumn(elapsed_when_finished=True),
                console=self.console,
            )
            self._progress.add_task(
                "", total=module.plan.tokens, completed=module.tokens_seen, tokens="", loss=0.0, rate=0.0
            )
            self._progress.start()

    def after_step(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """Update when the interval has passed."""
        now, (shown, shown_tokens) = time.perf_counter(), self._shown
        finished = trainer.global_step == module.plan.steps
        if not trainer.is_global_zero or (now - shown < self.interval and not finished):
            return
        rate = (module.tokens_seen - shown_tokens) / max(now - shown, 1e-9)
        self._shown = (now, module.tokens_seen)
        loss = float(module.step_loss)
        tokens = f"{module.tokens_seen:,} of {module.plan.tokens:,} tokens"
        if self._progress is not None:
            task = self._progress.task_ids[0]
            self._progress.update(task, completed=module.tokens_seen, tokens=tokens, loss=loss, rate=rate)
        else:
            print(f"  {tokens}  loss {loss:.3f}  {rate:,.0f} tokens/s", file=self.console.file, flush=True)

    def on_train_end(self, *args: Any) -> None:
        """Take the bar away."""
        self._stop()

    def on_exception(self, *args: Any) -> None:
        """Take the bar away before the error is shown."""
        self._stop()

    def _stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
