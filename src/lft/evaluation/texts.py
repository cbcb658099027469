"""Bits per byte of texts, document by document, and loss by position, beyond the training context too."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

from lft.data import FilesConfig, FileSource, token_bytes
from lft.errors import RequestError
from lft.evaluation.answers import Answers, Row
from lft.evaluation.scorer import Scorer
from lft.evaluation.scoring import Pair
from lft.evaluation.settings import Settings
from lft.runs import WHOLE_TEXT, content_hash

# Ranges of positions that a training context is told apart into.
RANGES = 8


@dataclass(frozen=True)
class BitsPerByte:
    """The whole of each document, from its end-of-text token on.

    Every token is predicted once. A window has the training context's length; sliding windows overlap by
    half, so that all but a document's first tokens see at least half a context before them; disjoint ones
    start anew from the last token of the window before. A document's last window is filled up from before
    (the rule of lm-eval's `loglikelihood_rolling`).

    Attributes:
        settings: `text` names the files, `window` the rule.
    """

    settings: Settings
    name: str = "bits_per_byte"

    def identity(self) -> dict[str, Any]:
        """What decides the result beside the model.

        Raises:
            RequestError: No text is named, or it is not there.
        """
        settings = self.settings
        return {"data": text_files(settings), "window": settings.window, "limit": settings.limit}

    def load(self) -> set[str]:
        """Nothing: documents are read when they are asked."""
        return {self.name}

    def ask(self, scorer: Scorer) -> Answers:
        """The log-probability of each document."""
        overlap = scorer.context_length // 2 if self.settings.window == "sliding" else 0
        texts = read_documents(self.settings)
        documents = scorer.encode(texts)
        totals = scorer.score_documents(documents, overlap, "scoring documents")
        items = [
            {**_row(self.name, number, text, len(text.encode()), len(tokens)), "log_probabilities": [total]}
            for number, (text, tokens, total) in enumerate(zip(texts, documents, totals, strict=True))
        ]
        return Answers(items, {"context_tokens": scorer.context_length, "context_overlap": overlap})


@dataclass(frozen=True)
class LossByPosition:
    """The loss at each range of positions, up to `long_context` times the training context.

    Documents are cut into stretches of that many tokens; what is left over at a document's end is not
    used, so that every range is measured on the same stretches.

    Attributes:
        settings: `text` names the files, `long_context` the length.
    """

    settings: Settings
    name: str = "loss_by_position"

    def identity(self) -> dict[str, Any]:
        """What decides the result beside the model.

        Raises:
            RequestError: No text is named, or it is not there.
        """
        settings = self.settings
        return {"data": text_files(settings), "long_context": settings.long_context, "limit": settings.limit}

    def load(self) -> set[str]:
        """Nothing: documents are read when they are asked."""
        return {self.name}

    def ask(self, scorer: Scorer) -> Answers:
        """The log-probability of each range in each stretch.

        Raises:
            RequestError: No document is long enough.
        """
        length = int(self.settings.long_context * scorer.context_length)
        scorer.model.cover(length)
        stretches: list[tuple[str, Pair]] = []
        documents = read_documents(self.settings)
        for text, tokens in zip(documents, scorer.encode(documents), strict=True):
            before = [scorer.end_of_text, *tokens]
            for start in range(0, len(tokens) - length + 1, length):
                stretches.append((text, Pair([before[start]], tokens[start : start + length])))
        if not stretches:
            raise RequestError(
                f"no document has {length} tokens, {self.settings.long_context:g} times the training "
                "context; name longer texts, or lower eval.long_context"
            )
        scores = scorer.score([pair for _, pair in stretches], "scoring positions")
        counts = token_bytes(scorer.trained.tokenizer)
        width = max(1, scorer.context_length // RANGES)
        items = []
        for number, ((text, pair), result) in enumerate(zip(stretches, scores, strict=True)):
            for first in range(0, length, width):
                asked = slice(first, first + width)
                tokens = list(pair.continuation[asked])
                row = _row(self.name, number, text, int(counts[tokens].sum()), len(tokens))
                row["category"] = f"{first + 1}-{first + len(tokens)}"
                items.append({**row, "log_probabilities": [sum(result.log_probabilities[asked])]})
        return Answers(items, {"context_tokens": scorer.context_length, "stretch_tokens": length})


def text_files(settings: Settings) -> dict[str, Any]:
    """Name and sha256 of each file.

    Raises:
        RequestError: No text is named, or it is not there.
    """
    return _source(settings).description()


def read_documents(settings: Settings) -> list[str]:
    """The documents of the files that hold any text, as training would read them.

    Raises:
        RequestError: A file is broken, or there is no text in any.
    """
    documents = filter(None, _source(settings).documents())
    asked = list(islice(documents, settings.limit or None))
    if not asked:
        raise RequestError(f"the files of eval.text={settings.text} hold no text; name others")
    return asked


def _source(settings: Settings) -> FileSource:
    if not settings.text:
        raise RequestError(
            "name the texts to score as eval.text=... (files, folders or globs, comma-separated)"
        )
    config = FilesConfig(name="text", validation_fraction=0.5, paths=settings.text.split(","))
    return FileSource(config, asked_as="eval.text=...")


def _row(name: str, number: int, text: str, num_bytes: int, num_tokens: int) -> Row:
    content = content_hash(text.encode())
    return {
        "subtask": name,
        "output_type": WHOLE_TEXT,
        "item": number,
        "content": content,
        "cluster": content,
        "tokens": [num_tokens],
        "bytes": [num_bytes],
        "weight": 1.0,
        "truncated_tokens": 0,
    }
