"""A trained model that scores texts: encoding, the context's length, progress."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from lft.data import END_OF_TEXT
from lft.errors import RequestError
from lft.evaluation.scoring import Advance, Pair, Score, score
from lft.evaluation.settings import Settings
from lft.inference import TrainedModel


class Scorer:
    """Scores token sequences with a trained model, as the settings say.

    Args:
        trained: The model; it moves to the fastest device there is.
        settings: Precision, batch size, and what to do with what is too long.
    """

    def __init__(self, trained: TrainedModel, settings: Settings) -> None:
        self.trained = trained
        self.settings = settings
        self.model = trained.model.to("cuda" if torch.cuda.is_available() else "cpu")
        self.context_length = trained.model.shape.context_length
        end_of_text = trained.tokenizer.token_to_id(END_OF_TEXT)
        assert end_of_text is not None, "every tokenizer of a run marks the end of a text"
        self.end_of_text = end_of_text

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of texts, with nothing added."""
        encodings = self.trained.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def fit(self, pair: Pair, where: str) -> tuple[Pair, int]:
        """Cut a pair to the context from the left.

        Args:
            pair: What is to be scored.
            where: The item in words, for messages.

        Returns:
            The pair as it fits, and how many tokens were cut off.

        Raises:
            RequestError: There is nothing to score, the continuation alone is longer than the context, or
                the pair is and is to be refused.
        """
        # Nothing before a text is the start of a document.
        context, continuation = pair.context or [self.end_of_text], pair.continuation
        if not continuation:
            raise RequestError(
                f"{where} has no tokens to score: a choice is empty or melts into its context; mend or "
                "remove the item"
            )
        if len(continuation) > self.context_length:
            raise RequestError(
                f"{where} asks for {len(continuation)} tokens, more than the model's context of "
                f"{self.context_length}; remove the item"
            )
        room = self.context_length + 1 - len(continuation)
        excess = max(0, len(context) - room)
        if excess and self.settings.too_long == "refuse":
            raise RequestError(
                f"{where} has {len(context) + len(continuation)} tokens, {excess} more than fit the context; "
                "set eval.too_long=truncate, or remove the item"
            )
        return Pair(context[excess:], continuation), excess

    def score_documents(self, documents: Sequence[list[int]], overlap: int, what: str) -> list[float]:
        """Log-probabilities of whole documents, from their end-of-text token on, in windows of the context.

        Every token is predicted once; a document's last window is filled up from before.

        Args:
            documents: Token ids.
            overlap: Tokens that a window shares with the one before it.
            what: The name of the bar.
        """
        windows: list[Pair] = []
        counts = []
        for tokens in documents:
            cuts = get_rolling_token_windows(tokens, self.end_of_text, self.context_length, overlap + 1)
            pieces = [Pair(*make_disjoint_window(cut)) for cut in cuts]
            counts.append(len(pieces))
            windows += pieces
        totals = iter([result.total for result in self.score(windows, what)])
        return [sum(next(totals) for _ in range(count)) for count in counts]

    def score(self, pairs: Sequence[Pair], what: str) -> list[Score]:
        """Score pairs that fit; a bar named `what` shows how far it is."""
        total = sum(len(pair.context) + len(pair.continuation) - 1 for pair in pairs)
        with progress(what, total) as advance:
            return score(self.model, pairs, self.settings.batch_tokens, self.settings.precision, advance)


@contextmanager
def progress(what: str, total: int) -> Iterator[Advance]:
    """A bar on standard error, where that is a terminal; the time left takes all units for equally slow."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(elapsed_when_finished=True))
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)
