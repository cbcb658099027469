"""A trained model as the Language Model Evaluation Harness (lm-eval) asks it."""

from collections.abc import Iterator, Sequence
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import TemplateLM
from lm_eval.models.utils import handle_stop_sequences, normalize_gen_kwargs, postprocess_generated_text

from lft.data import END_OF_TEXT
from lft.errors import RequestError
from lft.evaluation.scorer import Scorer, progress
from lft.evaluation.scoring import Pair
from lft.inference import Sampler, decode

# Prompts that are continued together.
DECODED_TOGETHER = 32
TokenRequest = tuple[tuple[str, str], list[int], list[int]]


class HarnessModel(TemplateLM):
    """Answers lm-eval's three kinds of requests by its own conventions (those of its class `HFLM`).

    An empty context is the end-of-text token; a document for `loglikelihood_rolling` starts with it and is
    cut into disjoint windows of the context's length.

    Attributes:
        tokens: Scored tokens of each (context, continuation), or of a whole text.
        truncated: Tokens cut off the left of each (context, continuation) or prompt.

    Args:
        scorer: The model.
    """

    def __init__(self, scorer: Scorer) -> None:
        super().__init__()
        self.scorer = scorer
        self.tokens: dict[tuple[str, ...], int] = {}
        self.truncated: dict[tuple[str, ...], int] = {}
        self._encoded: dict[str, list[int]] = {}
        self._names: list[str] = []

    @property
    def eot_token_id(self) -> int:
        """The end-of-text token, which stands for an empty context."""
        return self.scorer.end_of_text

    def tok_encode(self, string: str, add_special_tokens: bool | None = None, **kwargs: Any) -> list[int]:
        """Token ids of a text, with nothing added."""
        return self._encoded[string] if string in self._encoded else self.scorer.encode([string])[0]

    def loglikelihood(self, requests: list[Instance], disable_tqdm: bool = True) -> list[tuple[float, bool]]:
        """Log-probability of each continuation after its context, and whether it is the most likely.

        Raises:
            RequestError: A continuation is empty, or an item does not fit the context and is to be refused.
        """
        self._names = [_name(request) for request in requests]
        for request, name in zip(requests, self._names, strict=True):
            # lm-eval puts a space in front of most choices.
            if not request.args[1].strip():
                raise RequestError(f"{name} has an empty choice; mend or remove the item")
        self._encode_ahead([request.args for request in requests])
        return super().loglikelihood(requests, disable_tqdm=True)

    def _encode_ahead(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Encode, on all cores, what the template will ask for one by one."""
        texts = {context.rstrip() for context, _ in pairs} | {context + text for context, text in pairs}
        ordered = sorted(texts)
        self._encoded = dict(zip(ordered, self.scorer.encode(ordered), strict=True))

    def _loglikelihood_tokens(self, requests: list[TokenRequest], **kwargs: Any) -> list[tuple[float, bool]]:
        pairs = []
        for (texts, context, continuation), name in zip(requests, self._names, strict=True):
            pair, self.truncated[texts] = self.scorer.fit(Pair(context, continuation), name)
            self.tokens[texts] = len(continuation)
            pairs.append(pair)
        scores = self.scorer.score(pairs, "scoring choices")
        return [(result.total, result.is_greedy) for result in scores]

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = True) -> list[float]:
        """Log-probability of whole texts."""
        texts = [request.args[0] for request in requests]
        documents = self.scorer.encode(texts)
        self.tokens |= {(text,): len(tokens) for text, tokens in zip(texts, documents, strict=True)}
        return self.scorer.score_documents(documents, 0, "scoring texts")

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = True) -> list[str]:
        """Continue prompts until a stopping sequence, cut from the left where they leave no room."""
        answers = [""] * len(requests)
        with progress("generating", len(requests)) as advance:
            for batch in self._batches_to_generate(requests):
                prompts = [requests[index].args[0] for index in batch]
                # A batch has one set of options.
                texts = self._generate(prompts, requests[batch[0]].args[1])
                for index, text in zip(batch, texts, strict=True):
                    answers[index] = text
                advance(len(batch))
        return answers

    def _batches_to_generate(self, requests: Sequence[Instance]) -> Iterator[list[int]]:
        """Indices of requests with the same options and prompts of like length."""
        groups: dict[str, list[int]] = {}
        for index, request in enumerate(requests):
            groups.setdefault(repr(request.args[1]), []).append(index)
        for group in groups.values():
            ordered = sorted(group, key=lambda index: -len(requests[index].args[0]))
            for start in range(0, len(ordered), DECODED_TOGETHER):
                yield ordered[start : start + DECODED_TOGETHER]

    def _generate(self, prompts: Sequence[str], options: dict[str, Any]) -> list[str]:
        options = dict(normalize_gen_kwargs(options))
        stops = handle_stop_sequences(options["until"], eos=END_OF_TEXT)
        most, context = options["max_gen_toks"], self.scorer.context_length
        room = context - most
        if room < 1:
            raise RequestError(
                f"a task asks for up to {most} new tokens, which leaves no room in the model's context of "
                f"{context}; leave it out"
            )
        encoded = [tokens or [self.eot_token_id] for tokens in self.scorer.encode(prompts)]
        for prompt, tokens in zip(prompts, encoded, strict=True):
            self.truncated[prompt,] = excess = max(0, len(tokens) - room)
            if excess and self.scorer.settings.too_long == "refuse":
                raise RequestError(
                    f"a prompt has {len(tokens)} tokens, {excess} more than leave room for its answer; set "
                    "eval.too_long=truncate, or leave the task out"
                )
        sampler = Sampler(
            float(options.get("temperature") or 0),
            int(options.get("top_k") or 0),
            float(options.get("top_p") or 1),
        )
        written: list[list[int]] = [[] for _ in prompts]
        ended = [False] * len(prompts)
        decoder = self.scorer.trained.tokenizer.decode
        inputs = [tokens[-room:] for tokens in encoded]
        for step in decode(self.scorer.model, inputs, most, sampler, self.eot_token_id):
            for place, token in enumerate(step):
                if token is None or token == self.eot_token_id:
                    ended[place] = True
                elif not ended[place]:
                    written[place].append(token)
                    ended[place] = any(stop in decoder(written[place]) for stop in stops)
            if all(ended):
                break
        return [postprocess_generated_text(decoder(tokens), stops, None) for tokens in written]


def _name(request: Instance) -> str:
    """An item in words; items count from 0, as in lm-eval's logs."""
    return f"{request.task_name} item {request.doc_id}"
