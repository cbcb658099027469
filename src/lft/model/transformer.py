"""The decoder: stored blocks in a flat list, and a schedule that says in which order they run."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from lft.costs import ModelShape
from lft.model.block import Block
from lft.model.cache import Cache
from lft.model.rope import rope_table
from lft.routing import Schedule, Step

# As many positions at a time as keep their logits in a CPU's cache.
LOSS_CHUNKS = nn.LinearCrossEntropyOptions(batch_chunk_size=1024)


# Tensors that a block computes with at single steps, in place of its own parameters, by their names.
StandIns = Mapping[Step, Mapping[str, Tensor]]


class Transformer(nn.Module):
    """Pre-norm decoder with tied embeddings that executes a schedule over its stored blocks.

    Args:
        shape: Sizes of the model.
        schedule: Order of execution; its blocks are the stored ones. May be replaced by another over the
            same blocks whose steps are all among those of the first.
        gradient: Which visits train their block: `all`, `first` or `last`. Activations pass their gradient
            on at every visit.
    """

    cosine: Tensor
    sine: Tensor

    def __init__(self, shape: ModelShape, schedule: Schedule, gradient: str = "all") -> None:
        super().__init__()
        assert schedule.num_blocks == shape.num_blocks
        self.shape = shape
        self.schedule = schedule
        self.gradient = gradient
        self.embedding = nn.Embedding(shape.vocab_size, shape.d_model)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.num_blocks))
        self.final_norm = nn.RMSNorm(shape.d_model, shape.norm_epsilon)
        # Vectors, so that they do not decay; one for each step of the whole schedule.
        conditioned = schedule.steps if shape.conditioning != "none" else ()
        self.visit_factors = nn.ParameterDict(
            {step.name: torch.ones(shape.conditioning_parameters) for step in conditioned}
        )
        cosine, sine = rope_table(shape.context_length, shape.head_size, shape.rope_theta)
        self.register_buffer("cosine", cosine, persistent=False)
        self.register_buffer("sine", sine, persistent=False)

    def hidden(
        self,
        tokens: Int[Tensor, "batch time"],
        stand_ins: StandIns | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "batch time width"]:
        """The residual stream after the last step, before the final norm.

        Args:
            tokens: Input tokens; with a cache, those that come after the positions in it.
            stand_ins: Used in place of a block's parameters at the steps they are given for.
            cache: Keys and values of earlier positions; the new ones are added.
        """
        return self.run(self.embedding(tokens), self.schedule.steps, stand_ins, cache)

    def residuals(
        self, tokens: Int[Tensor, "batch time"], stand_ins: StandIns | None = None
    ) -> Iterator[Float[Tensor, "batch time width"]]:
        """The residual stream before the first step, and after every step; arguments as of `hidden`."""
        embedded = self.embedding(tokens)
        yield embedded
        yield from self._run(embedded, self.schedule.steps, stand_ins)

    def run(
        self,
        residual: Float[Tensor, "batch time width"],
        steps: Iterable[Step],
        stand_ins: StandIns | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "batch time width"]:
        """The residual stream after some steps, the first of which reads `residual`."""
        for after in self._run(residual, steps, stand_ins, cache):
            residual = after
        return residual

    def _run(
        self,
        residual: Tensor,
        steps: Iterable[Step],
        stand_ins: StandIns | None,
        cache: Cache | None = None,
    ) -> Iterator[Float[Tensor, "batch time width"]]:
        time = residual.shape[1]
        cosine, sine = self.rope(time) if cache is None else self._rope_at(cache.advance(time))
        given, detached = stand_ins or {}, self.schedule.detached(self.gradient)
        for step in steps:
            inputs = (residual, cosine, sine, self.gains(step), cache.slots[step] if cache else None)
            own = given.get(step) or (self._constants(step) if step in detached else None)
            residual = self._execute(step, inputs, own)
            yield residual

    def _rope_at(
        self, positions: Int[Tensor, "batch time"]
    ) -> tuple[Float[Tensor, "batch 1 time head"], Float[Tensor, "batch 1 time head"]]:
        return self.cosine[positions].unsqueeze(1), self.sine[positions].unsqueeze(1)

    def rope(self, time: int) -> tuple[Float[Tensor, "time head"], Float[Tensor, "time head"]]:
        """Cosines and sines of the first positions."""
        return self.cosine[:time], self.sine[:time]

    def cover(self, num_positions: int) -> None:
        """Make positions beyond the context that the model was made for usable, so many in all."""
        if num_positions > len(self.cosine):
            table = rope_table(num_positions, self.shape.head_size, self.shape.rope_theta)
            self.cosine, self.sine = (tensor.to(self.cosine) for tensor in table)

    def gains(self, step: Step) -> Float[Tensor, "2 width"] | None:
        """What a step scales the block's normed inputs by; None where steps have no gains of their own."""
        return self.visit_factors[step.name].view(2, -1) if self.shape.conditioning == "norm" else None

    def new_cache(self, padding: Int[Tensor, " batch"], capacity: int) -> Cache:
        """An empty cache for the present schedule; arguments as of `Cache`."""
        return Cache(self.shape, self.schedule, padding, capacity, self.embedding.weight)

    def idle_factors(self) -> list[Tensor]:
        """Factors of steps that the present schedule leaves out."""
        running = {step.name for step in self.schedule.steps}
        return [factor for name, factor in self.visit_factors.items() if name not in running]

    def _constants(self, step: Step) -> dict[str, Tensor]:
        """Stand-ins with which a step does not train its block."""
        return {name: tensor.detach() for name, tensor in self.blocks[step.block].named_parameters()}

    def _execute(
        self, step: Step, inputs: tuple[Any, ...], stand_ins: Mapping[str, Tensor] | None
    ) -> Float[Tensor, "batch time width"]:
        block, residual = self.blocks[step.block], inputs[0]
        updated = block(*inputs) if stand_ins is None else functional_call(block, dict(stand_ins), inputs)
        if self.shape.conditioning == "scale":
            return residual + self.visit_factors[step.name] * (updated - residual)
        return updated

    def head(self, residual: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch time vocab"]:
        """Logits read from the residual stream through the tied embedding."""
        return functional.linear(self.final_norm(residual), self.embedding.weight)

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        """Logits of the next token at every position."""
        return self.head(self.hidden(tokens))

    def loss(
        self, tokens: Int[Tensor, "batch time"], targets: Int[Tensor, "batch time"]
    ) -> Float[Tensor, ""]:
        """Mean cross-entropy in nats per token."""
        residual = self.hidden(tokens)
        if _chunks_pay(residual):
            return self.chunked_head_loss(residual, targets)
        return self.head_loss(residual, targets)

    def chunked_head_loss(
        self, residual: Float[Tensor, "batch time width"], targets: Int[Tensor, "batch time"]
    ) -> Float[Tensor, ""]:
        """The same without ever holding all logits: they are made, and their gradients taken, in chunks."""
        return functional.linear_cross_entropy(
            self.final_norm(residual).flatten(0, 1),
            self.embedding.weight,
            targets.flatten(),
            options=LOSS_CHUNKS,
        )

    def head_loss(
        self, residual: Float[Tensor, "batch time width"], targets: Int[Tensor, "batch time"]
    ) -> Float[Tensor, ""]:
        """Mean cross-entropy of the head's logits; a method of its own so that it compiles as one piece."""
        logits = self.head(residual).flatten(0, 1)
        at_least_float32 = torch.promote_types(logits.dtype, torch.float32)
        return functional.cross_entropy(logits.to(at_least_float32), targets.flatten())

    def compile_in_place(self) -> None:
        """Compile the block and the head, leaving every parameter name as it is.

        Blocks share one compiled graph, so the time to the first step does not grow with depth.
        """
        for block in self.blocks:
            block.compile(dynamic=False)
        self.head_loss = torch.compile(self.head_loss, dynamic=False)  # type: ignore[method-assign]


def _chunks_pay(residual: Tensor) -> bool:
    """Whether the chunked loss is the faster one: in training in full precision on a CPU.

    It computes gradients even where none are wanted, and takes no part in autocast.
    """
    return residual.device.type == "cpu" and residual.requires_grad and not torch.is_autocast_enabled("cpu")
