"""From a prompt to the text that follows it, piece by piece."""

from collections.abc import Iterator

from lft.data import END_OF_TEXT
from lft.inference.decoding import Choose, decode
from lft.inference.trained_model import TrainedModel


def continue_text(trained: TrainedModel, prompt: str, max_tokens: int, choose: Choose) -> Iterator[str]:
    """The continuation of a prompt, in pieces of whole characters.

    An empty prompt stands for the start of a document. The text ends with the document, after
    `max_tokens`, or where the context is full.

    Raises:
        RequestError: The prompt leaves no room in the context.
    """
    from tokenizers.decoders import DecodeStream

    tokenizer = trained.tokenizer
    end_token = tokenizer.token_to_id(END_OF_TEXT)
    assert end_token is not None, "every tokenizer of a run marks the end of a text"
    encoded = tokenizer.encode(prompt, add_special_tokens=False).ids or [end_token]
    stream = DecodeStream(encoded, skip_special_tokens=True)
    for (token,) in decode(trained.model, [encoded], max_tokens, choose, end_token):
        piece = stream.step(tokenizer, token)
        if piece:
            yield piece
