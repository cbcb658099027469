"""Keys and values of earlier positions, kept for every step."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from lft.costs import ModelShape
from lft.routing import Schedule


@dataclass
class Slot:
    """Keys and values of one step, and where the next are written.

    Attributes:
        keys: Rotated keys of every position up to the capacity.
        values: Values beside them.
        length: Positions that are filled.
        visible: Which positions each new query of each sequence may see; None where a single one sees all.
    """

    keys: Float[Tensor, "batch kv_heads capacity head_size"]
    values: Float[Tensor, "batch kv_heads capacity head_size"]
    length: int = 0
    visible: Bool[Tensor, "batch 1 time seen"] | None = None

    def extend(
        self,
        keys: Float[Tensor, "batch kv_heads time head_size"],
        values: Float[Tensor, "batch kv_heads time head_size"],
    ) -> tuple[
        Float[Tensor, "batch kv_heads seen head_size"], Float[Tensor, "batch kv_heads seen head_size"]
    ]:
        """Append new positions; all keys and values so far."""
        end = self.length + keys.shape[2]
        self.keys[:, :, self.length : end] = keys
        self.values[:, :, self.length : end] = values
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]


class Cache:
    """One slot for every step of a schedule: visits of a block never share, since they read other streams.

    Sequences of unequal length are padded in front; the padding is never seen.

    Attributes:
        slots: By step; a step of another schedule has none.
        length: Positions that are filled.

    Args:
        shape: Sizes of the model.
        schedule: The route that will be run.
        padding: Positions at the start of each sequence that hold nothing.
        capacity: Most positions.
        like: A tensor of the number format and device to keep.
    """

    def __init__(
        self,
        shape: ModelShape,
        schedule: Schedule,
        padding: Int[Tensor, " batch"],
        capacity: int,
        like: Tensor,
    ) -> None:
        size = (len(padding), shape.num_kv_heads, capacity, shape.head_size)
        self.padding = padding
        self.is_padded = bool(padding.any())
        self.capacity = capacity
        self.length = 0
        self.slots = {step: Slot(like.new_empty(size), like.new_empty(size)) for step in schedule.steps}

    @property
    def num_bytes(self) -> int:
        """Memory of all slots."""
        return sum(
            tensor.numel() * tensor.element_size()
            for slot in self.slots.values()
            for tensor in (slot.keys, slot.values)
        )

    def advance(self, time: int) -> Int[Tensor, "batch time"]:
        """Make room for so many new positions; their places in their own sequences.

        Raises:
            ValueError: The cache is full.
        """
        if self.length + time > self.capacity:
            raise ValueError(f"{self.length} + {time} positions do not fit a cache of {self.capacity}")
        queries = torch.arange(self.length, self.length + time, device=self.padding.device)
        visible = self._visible(queries) if time > 1 or self.is_padded else None
        for slot in self.slots.values():
            slot.visible = visible
        self.length += time
        return (queries - self.padding[:, None]).clamp(min=0)

    def _visible(self, queries: Int[Tensor, " time"]) -> Bool[Tensor, "batch 1 time seen"]:
        seen = torch.arange(self.length + len(queries), device=queries.device)
        visible = (seen <= queries[:, None]) & (seen >= self.padding[:, None, None])
        # A query of the padding sees itself, so that its softmax is defined; nobody sees it.
        visible |= seen == queries[:, None]
        return visible[:, None]
