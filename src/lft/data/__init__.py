"""Corpora, tokenizers, token shards, and the order of batches as a function of seed and step."""

from lft.data.batches import PackedSequences, SequenceOrder
from lft.data.config import DataConfig, FilesConfig, FineWebEduConfig, SampleConfig
from lft.data.preparation import find, prepare, prepared_folder
from lft.data.prepared import PreparedData, TokenStream
from lft.data.sources import Advice, FileSource, open_source, probe_dataset, read_records
from lft.data.tokenizer import END_OF_TEXT, load_tokenizer, token_bytes

__all__ = [
    "END_OF_TEXT",
    "Advice",
    "DataConfig",
    "FileSource",
    "FilesConfig",
    "FineWebEduConfig",
    "PackedSequences",
    "PreparedData",
    "SampleConfig",
    "SequenceOrder",
    "TokenStream",
    "find",
    "load_tokenizer",
    "open_source",
    "prepare",
    "prepared_folder",
    "probe_dataset",
    "read_records",
    "token_bytes",
]
