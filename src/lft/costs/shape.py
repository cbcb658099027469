"""The shape of a model: the numbers that decide its parameters and its cost per step."""

from dataclasses import dataclass

from lft.errors import RequestError


@dataclass(frozen=True)
class ModelShape:
    """Sizes of a decoder whose blocks all look alike.

    Attributes:
        vocab_size: Tokens in the vocabulary; the embedding is also the output head.
        num_blocks: Stored blocks N.
        d_model: Width of the residual stream.
        num_heads: Query heads; d_model is split evenly among them.
        num_kv_heads: Key and value heads; fewer than `num_heads` is grouped-query attention.
        d_ff: Hidden width of the SwiGLU.
        context_length: Tokens the model is trained on at once.
        qk_norm: RMSNorm on each query and key head before the rotary embedding.
        rope_theta: Base of the rotary embedding's wavelengths.
        norm_epsilon: Added to the mean square in every RMSNorm.
        conditioning: What each step learns beside its block: `none`, a `scale` of its update per channel,
            or gains of its own for the block's two pre-norms (`norm`).
        conditioning_steps: Steps that learn it; 0 without conditioning.
    """

    vocab_size: int
    num_blocks: int
    d_model: int
    num_heads: int
    num_kv_heads: int
    d_ff: int
    context_length: int
    qk_norm: bool = False
    rope_theta: float = 10_000.0
    norm_epsilon: float = 1e-5
    conditioning: str = "none"
    conditioning_steps: int = 0

    def __post_init__(self) -> None:
        sizes = ("vocab_size", "num_blocks", "d_model", "num_heads", "num_kv_heads", "d_ff", "context_length")
        for name in sizes:
            if getattr(self, name) < 1:
                raise RequestError(f"scale.{name}={getattr(self, name)} must be 1 or more")
        if self.d_model % self.num_heads:
            raise RequestError(
                f"scale.num_heads={self.num_heads} does not divide scale.d_model={self.d_model}; change one"
            )
        if self.head_size % 2:
            raise RequestError(
                f"the head size {self.head_size} is odd, but rotary embeddings turn pairs; "
                "change scale.num_heads"
            )
        if self.num_heads % self.num_kv_heads:
            raise RequestError(
                f"scale.num_kv_heads={self.num_kv_heads} does not divide scale.num_heads={self.num_heads}"
            )

    @property
    def head_size(self) -> int:
        """Width of one attention head."""
        return self.d_model // self.num_heads

    @property
    def kv_size(self) -> int:
        """Width of all key heads together, and of all value heads."""
        return self.num_kv_heads * self.head_size

    @property
    def conditioning_parameters(self) -> int:
        """Weights that one conditioned step learns for itself."""
        return {"none": 0, "scale": 1, "norm": 2}[self.conditioning] * self.d_model
