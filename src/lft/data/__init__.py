"""Corpora, tokenizers, token shards, and the order of batches as a function of seed and step."""

from lft.data.batches import PackedSequences, SequenceOrder
from lft.data.config import DataConfig, FilesConfig, FineWebEduConfig, SampleConfig
from lft.data.preparation import find, prepare, prepared_folder
from lft.data.prepared import PreparedData, TokenStream
from lft.data.tokenizer import END_OF_TEXT, load_tokenizer, token_bytes

__all__ = [
    "END_OF_TEXT",
    "DataConfig",
    "FilesConfig",
    "FineWebEduConfig",
    "PackedSequences",
    "PreparedData",
    "SampleConfig",
    "SequenceOrder",
    "TokenStream",
    "find",
    "load_tokenizer",
    "prepare",
    "prepared_folder",
    "token_bytes",
]
