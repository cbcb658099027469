"""Byte-level BPE tokenizers: trained, loaded, and checked to lose no byte of a text."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lft.errors import RequestError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

END_OF_TEXT = "<|endoftext|>"

# Whatever normalizers, splitters and decoders are known to change.
PROBE = (
    "Two  spaces, Capitals, \ufb01 and \uff21, e\u0301 beside \u00e9, \u6c49\u5b57 \u200b\ufeff"
    "\U0001f9d1\U0001f3fd\u200d\U0001f680\x00\x07\x1b\x7f\t\t1234567890\r\n\n\n"
    "don't  ,  .  ## [UNK] <s> \u2581 \u0120 \u010a \ud7ff\ue000\uffff\U0010ffff\u00a0\u2028 trailing \n  "
)


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> "Tokenizer":
    """Train a byte-level BPE.

    Args:
        texts: What to train on.
        vocab_size: Tokens in the vocabulary, `<|endoftext|>` among them.

    Raises:
        RequestError: The texts do not yield that many tokens.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    size = tokenizer.get_vocab_size()
    if size < vocab_size:
        raise RequestError(
            f"the text is too little for data.vocab_size={vocab_size}, it yields {size} tokens; "
            f"give more text or set data.vocab_size={size}"
        )
    return _prepared(tokenizer)


def read_tokenizer(path: Path) -> bytes:
    """The content of a tokenizer.json.

    Raises:
        RequestError: There is no such file.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise RequestError(
            f"cannot read the tokenizer {path} ({error.strerror}); name a tokenizer.json as "
            "data.tokenizer=..."
        ) from error


def load_tokenizer(path: Path) -> "Tokenizer":
    """Load a tokenizer.json so that it encodes text exactly: nothing is added, cut off or taken as a command.

    Text that spells `<|endoftext|>` is encoded as the ordinary text it is. Encode with
    `add_special_tokens=False`, since a tokenizer of another's making may put tokens in front.

    Raises:
        RequestError: There is no such file, or it is no tokenizer.
    """
    from tokenizers import Tokenizer

    content = read_tokenizer(path)
    try:
        tokenizer = Tokenizer.from_buffer(content)
    except Exception as error:  # tokenizers raises the bare Exception
        raise RequestError(
            f"{path} is not a tokenizer.json of the library tokenizers ({error}); name another as "
            "data.tokenizer=..."
        ) from error
    return _prepared(tokenizer)


def check_tokenizer(tokenizer: "Tokenizer", vocab_size: int, where: str) -> None:
    """Make sure that a tokenizer fits the models and loses nothing.

    Args:
        tokenizer: As `load_tokenizer` returns it.
        vocab_size: Tokens the models expect.
        where: The tokenizer in words, for messages.

    Raises:
        RequestError: It has another size, no `<|endoftext|>`, or does not give every text back.
    """
    size = max(tokenizer.get_vocab().values()) + 1
    if size != vocab_size:
        raise RequestError(
            f"{where} has {size} tokens, not data.vocab_size={vocab_size}; data.vocab_size={size} fits"
        )
    if tokenizer.token_to_id(END_OF_TEXT) is None:
        raise RequestError(
            f"{where} has no token {END_OF_TEXT}; add it, or name another as data.tokenizer=..."
        )
    parts = _parts(json.loads(tokenizer.to_str()))
    if not {"pre_tokenizer ByteLevel", "decoder ByteLevel"} <= parts or _missing_bytes(tokenizer):
        raise RequestError(f"{where} is not byte-level, so it has no token for some texts; name another")
    if not is_lossless(tokenizer, PROBE):
        raise RequestError(
            f"{where} does not give a text back as it was (a normalizer or an added space changes it); "
            "name another as data.tokenizer=..."
        )


def is_lossless(tokenizer: "Tokenizer", text: str) -> bool:
    """Whether a text comes back from its tokens, and `token_bytes` accounts for each of its bytes."""
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    counted = int(token_bytes(tokenizer)[ids].sum())
    return tokenizer.decode(ids, skip_special_tokens=False) == text and counted == len(text.encode())


def token_bytes(tokenizer: "Tokenizer") -> np.ndarray:
    """UTF-8 bytes that each token stands for, `uint16[vocabulary]`; 0 for special tokens."""
    vocabulary = tokenizer.get_vocab()
    counts = np.zeros(max(vocabulary.values()) + 1, dtype=np.uint16)
    for token, index in vocabulary.items():
        # Byte-level vocabularies spell each byte as one character.
        counts[index] = len(token)
    for index, added in tokenizer.get_added_tokens_decoder().items():
        counts[index] = 0 if added.special else len(added.content.encode())
    return counts


def _prepared(tokenizer: "Tokenizer") -> "Tokenizer":
    tokenizer.encode_special_tokens = True
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _missing_bytes(tokenizer: "Tokenizer") -> bool:
    from tokenizers import pre_tokenizers

    vocabulary = tokenizer.get_vocab()
    return any(byte not in vocabulary for byte in pre_tokenizers.ByteLevel.alphabet())


def _parts(serialized: dict[str, Any]) -> set[str]:
    """Roles and types of all parts of a tokenizer, those inside sequences too."""
    found = set()
    for role in ("pre_tokenizer", "decoder"):
        part = serialized.get(role) or {}
        for inner in part.get("pretokenizers") or part.get("decoders") or [part]:
            found.add(f"{role} {inner.get('type')}")
    return found
