"""One stored Transformer block: pre-norm attention and SwiGLU, each added to the residual stream.

A block knows nothing of visits; the Transformer decides when it runs.
"""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from lft.costs import ModelShape
from lft.model.cache import Slot
from lft.model.rope import apply_rope


class Attention(nn.Module):
    """Causal self-attention with rotary positions; grouped-query heads and QK-norm when the shape asks."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.num_heads = shape.num_heads
        self.num_kv_heads = shape.num_kv_heads
        self.head_size = shape.head_size
        # One matrix product for queries, keys and values: the inputs are read once.
        self.query_key_value = nn.Linear(shape.d_model, shape.d_model + 2 * shape.kv_size, bias=False)
        self.output = nn.Linear(shape.d_model, shape.d_model, bias=False)
        self.query_norm = nn.RMSNorm(shape.head_size, shape.norm_epsilon) if shape.qk_norm else nn.Identity()
        self.key_norm = nn.RMSNorm(shape.head_size, shape.norm_epsilon) if shape.qk_norm else nn.Identity()

    def forward(
        self,
        hidden: Float[Tensor, "batch time width"],
        cosine: Float[Tensor, "*sequence time head_size"],
        sine: Float[Tensor, "*sequence time head_size"],
        slot: Slot | None = None,
    ) -> Float[Tensor, "batch time width"]:
        """Mix information across earlier positions, those in the slot among them."""
        query, key, value = self.heads(hidden, cosine, sine)
        visible = None
        if slot is not None:
            key, value = slot.extend(key, value)
            visible = slot.visible
        mixed = functional.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=visible,
            is_causal=slot is None,
            enable_gqa=self.num_kv_heads != self.num_heads,
        )
        return self.output(mixed.transpose(1, 2).reshape(hidden.shape))

    def heads(
        self,
        hidden: Float[Tensor, "batch time width"],
        cosine: Float[Tensor, "*sequence time head_size"],
        sine: Float[Tensor, "*sequence time head_size"],
    ) -> tuple[
        Float[Tensor, "batch heads time head_size"],
        Float[Tensor, "batch kv_heads time head_size"],
        Float[Tensor, "batch kv_heads time head_size"],
    ]:
        """Queries and keys, rotated to their positions, and values."""
        batch, time, _ = hidden.shape
        heads = self.query_key_value(hidden).view(batch, time, -1, self.head_size).transpose(1, 2)
        query, key, value = heads.split((self.num_heads, self.num_kv_heads, self.num_kv_heads), dim=1)
        query = apply_rope(self.query_norm(query), cosine, sine)
        key = apply_rope(self.key_norm(key), cosine, sine)
        return query, key, value


class SwiGLU(nn.Module):
    """Gated feed-forward layer (Shazeer, arXiv 2002.05202)."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.gate_up = nn.Linear(shape.d_model, 2 * shape.d_ff, bias=False)
        self.output = nn.Linear(shape.d_ff, shape.d_model, bias=False)

    def forward(self, hidden: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch time width"]:
        """Transform each position by itself."""
        gate, up = self.gate_up(hidden).chunk(2, dim=-1)
        return self.output(functional.silu(gate) * up)


class Block(nn.Module):
    """One stored block."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(shape.d_model, shape.norm_epsilon)
        self.attention = Attention(shape)
        self.mlp_norm = nn.RMSNorm(shape.d_model, shape.norm_epsilon)
        self.mlp = SwiGLU(shape)

    def forward(
        self,
        residual: Float[Tensor, "batch time width"],
        cosine: Float[Tensor, "*sequence time head_size"],
        sine: Float[Tensor, "*sequence time head_size"],
        gains: Float[Tensor, "2 width"] | None = None,
        slot: Slot | None = None,
    ) -> Float[Tensor, "batch time width"]:
        """Read the residual stream and add to it twice.

        `gains`, when given, scale what attention and feed-forward layer read, beside the norms' own gains;
        `slot` holds the keys and values of earlier positions.
        """
        residual = residual + self.attention(self.attention_input(residual, gains), cosine, sine, slot)
        mlp_input = self.mlp_norm(residual)
        if gains is not None:
            mlp_input = mlp_input * gains[1]
        return residual + self.mlp(mlp_input)

    def attention_input(
        self, residual: Float[Tensor, "batch time width"], gains: Float[Tensor, "2 width"] | None = None
    ) -> Float[Tensor, "batch time width"]:
        """What the attention reads of the residual stream."""
        normed = self.attention_norm(residual)
        return normed if gains is None else normed * gains[0]


def residual_outputs(block: Block) -> list[Tensor]:
    """The two matrices of a block that write into the residual stream."""
    return [block.attention.output.weight, block.mlp.output.weight]
