"""How the next token is chosen from its logits."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lft.errors import RequestError


@dataclass
class Sampler:
    """Draws tokens; the same seed draws the same.

    Attributes:
        temperature: Divides the logits; 0 takes the most likely token.
        top_k: Only so many most likely tokens can be drawn; 0 for all.
        top_p: Only the fewest most likely tokens that together have at least this probability can be drawn
            (Holtzman et al., arXiv 1904.09751); applied after `top_k`.
        seed: Of the generator.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    _generator: torch.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        bounds = {
            "temperature": (self.temperature >= 0, "0 or more"),
            "top_k": (self.top_k >= 0, "0 or more"),
            "top_p": (0 < self.top_p <= 1, "above 0 and at most 1"),
            "seed": (self.seed >= 0, "0 or more"),
        }
        for key, (allowed, meaning) in bounds.items():
            if not allowed:
                raise RequestError(f"{key}={getattr(self, key)} must be {meaning}")
        self._generator = torch.Generator().manual_seed(self.seed)

    def __call__(self, logits: Float[Tensor, "batch vocab"]) -> Int[Tensor, " batch"]:
        """The next token of every sequence."""
        if self.temperature == 0:
            return logits.argmax(dim=-1)
        # On the CPU in float64, so that every device draws alike.
        probabilities = self.distribution(logits.cpu().double())
        return torch.multinomial(probabilities, 1, generator=self._generator)[:, 0].to(logits.device)

    def distribution(self, logits: Float[Tensor, "batch vocab"]) -> Float[Tensor, "batch vocab"]:
        """The probabilities that are drawn from."""
        logits = logits / self.temperature
        if 0 < self.top_k < logits.shape[-1]:
            least = logits.topk(self.top_k).values[:, -1:]
            logits = logits.masked_fill(logits < least, -torch.inf)
        probabilities = logits.softmax(dim=-1)
        if self.top_p < 1:
            ranked, order = probabilities.sort(dim=-1, descending=True, stable=True)
            before = ranked.cumsum(dim=-1) - ranked
            ranked = ranked.masked_fill(before >= self.top_p, 0.0)
            probabilities = torch.zeros_like(probabilities).scatter(-1, order, ranked)
        return probabilities / probabilities.sum(dim=-1, keepdim=True)
