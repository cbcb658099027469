"""The model: a block, and a Transformer that runs a schedule over stored blocks."""

from lft.model.block import Block
from lft.model.cache import Cache
from lft.model.initialization import initialize
from lft.model.transformer import Transformer

__all__ = ["Block", "Cache", "Transformer", "initialize"]
