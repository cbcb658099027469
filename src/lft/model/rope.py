"""Rotary position embedding (Su et al., arXiv 2104.09864), in the half-split layout of Llama."""

import torch
from jaxtyping import Float
from torch import Tensor


def rope_table(
    num_positions: int, head_size: int, theta: float
) -> tuple[Float[Tensor, "time head"], Float[Tensor, "time head"]]:
    """Cosines and sines of every position, each frequency twice so that both halves of a head line up."""
    exponents = torch.arange(0, head_size, 2, dtype=torch.int64).float() / head_size
    frequencies = 1.0 / (theta**exponents)
    angles = torch.outer(torch.arange(num_positions).float(), frequencies)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def apply_rope(
    heads: Float[Tensor, "batch head time size"],
    cosine: Float[Tensor, "*sequence time size"],
    sine: Float[Tensor, "*sequence time size"],
) -> Float[Tensor, "batch head time size"]:
    """Rotate each pair (i, i + size/2) of every head by its position's angle."""
    first, second = heads.chunk(2, dim=-1)
    rotated = torch.cat((-second, first), dim=-1)
    return (heads * cosine + rotated * sine).to(heads.dtype)
