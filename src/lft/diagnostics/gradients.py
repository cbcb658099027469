"""The gradient of each visit, exact, and what the visits of a block have in common.

The gradient of a shared parameter is the sum of what each execution of its block contributes. Every step
computes with leaves of its own that share the parameters' storage, so that one backward pass, taken step by
step, yields the terms of the sum.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lft.diagnostics.reading import Reading
from lft.model import Transformer
from lft.routing import Step

# What a parameter's gradient is multiplied with, element by element, to measure it as an optimizer does.
Preconditioner = Callable[[nn.Parameter], Tensor]
VisitGradients = dict[Step, dict[str, Tensor]]


def visit_gradients(
    model: Transformer,
    tokens: Int[Tensor, "batch time"],
    targets: Int[Tensor, "batch time"],
    batch_sequences: int | None = None,
) -> VisitGradients:
    """The gradient of the mean loss, in nats per token, with respect to every block parameter at every step.

    Over the visits of a block they sum to the ordinary gradient. Steps that do not train their block
    (`sharing.gradient`) have none.

    Args:
        model: The model.
        tokens: Input tokens.
        targets: The token after each.
        batch_sequences: Most sequences worked on at once; all when not given.
    """
    pieces = len(tokens) if batch_sequences is None else batch_sequences
    totals: VisitGradients = {}
    for piece, wanted in zip(tokens.split(pieces), targets.split(pieces), strict=True):
        share = len(piece) / len(tokens)
        for step, by_name in _step_by_step(model, piece, wanted):
            before = totals.setdefault(step, {})
            for name, gradient in by_name.items():
                before[name] = share * gradient + before[name] if name in before else share * gradient
    # In the order of the steps, since they come last first.
    return {step: totals[step] for step in model.schedule.steps if step in totals}


def _step_by_step(
    model: Transformer, tokens: Int[Tensor, "batch time"], targets: Int[Tensor, "batch time"]
) -> Iterator[tuple[Step, dict[str, Tensor]]]:
    """The gradients of every step, from the last to the first.

    Every step is run again for its part of the backward pass, so that the activations of one block are held
    at a time (gradient checkpointing, Chen et al., arXiv 1604.06174).
    """
    detached = model.schedule.detached(model.gradient)
    with torch.no_grad():
        stream = list(model.residuals(tokens))
    with torch.enable_grad():
        last = stream.pop().requires_grad_()
        (upstream,) = torch.autograd.grad(model.head_loss(last, targets), last)
    for step in reversed(model.schedule.steps):
        block, before = model.blocks[step.block], stream.pop().requires_grad_()
        aliases = {name: parameter.detach() for name, parameter in block.named_parameters()}
        leaves = [] if step in detached else [alias.requires_grad_() for alias in aliases.values()]
        with torch.enable_grad():
            after = model.run(before, (step,), {step: aliases})
            upstream, *gradients = torch.autograd.grad(after, [before, *leaves], upstream)
        if leaves:
            yield step, dict(zip(aliases, gradients, strict=True))


@torch.no_grad()
def gradient_readings(
    model: Transformer,
    gradients: VisitGradients,
    statistic: str = "gradient",
    preconditioner: Preconditioner | None = None,
) -> list[Reading]:
    """Norms of the visits' gradients and the angles between them, for the block and each of its parts.

    For each visit `norm`; `share`, its norm among the sum of norms over the block's visits; `sum_cosine`,
    with the summed gradient; and `cosine_vK` with each later visit K. For each block `norm` of the sum, and
    `cancellation`, the same divided by the sum of norms: 1 where all visits agree, 0 where they cancel.
    What has no meaning, such as an angle with a zero vector, is left out.

    Args:
        model: The model.
        gradients: From `visit_gradients`.
        statistic: Put in front of the names.
        preconditioner: The metric of an optimizer; without it, gradients are measured as they are.
    """
    numbers = {step: number for number, step in enumerate(model.schedule.steps, start=1)}
    steps_of_block: dict[int, list[Step]] = defaultdict(list)
    for step in gradients:
        steps_of_block[step.block].append(step)
    readings: list[Reading] = []
    for block, steps in sorted(steps_of_block.items()):
        products = _inner_products(model.blocks[block], [gradients[step] for step in steps], preconditioner)
        for part, matrix in products.items():
            numbered = [(numbers[step], step) for step in steps]
            readings += _readings(f"{statistic}_", part, numbered, matrix)
    return readings


def _inner_products(
    block: nn.Module, gradients: list[dict[str, Tensor]], preconditioner: Preconditioner | None
) -> dict[str, Float[Tensor, "visits visits"]]:
    """Inner products between the gradients of all visits of a block, whole and for each part."""
    products: dict[str, Tensor] = {}
    for name, parameter in block.named_parameters():
        rows = torch.stack([gradient[name].flatten() for gradient in gradients]).to(_widest(parameter.device))
        if preconditioner is not None:
            rows *= preconditioner(parameter).flatten()
        product = rows @ rows.T
        for part in ("block", _part(name)):
            products[part] = products[part] + product if part in products else product
    # One transfer a part, where single values would each wait for the device.
    return {part: matrix.cpu() for part, matrix in products.items()}


def _widest(device: torch.device) -> torch.dtype:
    return torch.float32 if device.type == "mps" else torch.float64


def _part(parameter_name: str) -> str:
    return "norms" if "norm" in parameter_name else parameter_name.split(".")[0]


def _readings(
    prefix: str, part: str, steps: list[tuple[int, Step]], products: Float[Tensor, "visits visits"]
) -> Iterator[Reading]:
    norms = products.diagonal().sqrt()
    # Rounding may leave a sum of vectors that cancel below zero.
    total = products.sum().clamp(min=0).sqrt()
    with_sum = products.sum(dim=1)
    for index, (number, step) in enumerate(steps):
        values = {
            "norm": norms[index],
            "share": _ratio(norms[index], norms.sum()),
            "sum_cosine": _ratio(with_sum[index], norms[index] * total),
        }
        for later in range(index + 1, len(steps)):
            cosine = _ratio(products[index, later], norms[index] * norms[later])
            values[f"cosine_v{steps[later][1].visit + 1}"] = cosine
        for name, value in values.items():
            if value is not None:
                yield Reading.of_step(number, step, prefix + name, float(value), part)
    block = steps[0][1].block
    for name, value in {"norm": total, "cancellation": _ratio(total, norms.sum())}.items():
        if value is not None:
            yield Reading.of_block(block, prefix + name, float(value), part)


def _ratio(numerator: Tensor, denominator: Tensor) -> Tensor | None:
    return None if denominator == 0 else numerator / denominator
