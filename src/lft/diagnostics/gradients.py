"""The gradient of each visit, exact, and what the visits of a block have in common.

The gradient of a shared parameter is the sum of what each execution of its block contributes. Every step
computes with leaves of its own that share the parameters' storage, so that one backward pass yields the
terms of the sum.
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
        batch_sequences: Most sequences whose activations are held at once; all when not given.
    """
    detached = model.schedule.detached(model.gradient)
    aliases = {
        step: {
            name: parameter.detach().requires_grad_()
            for name, parameter in model.blocks[step.block].named_parameters()
        }
        for step in model.schedule.steps
        if step not in detached
    }
    leaves = [leaf for by_name in aliases.values() for leaf in by_name.values()]
    pieces = len(tokens) if batch_sequences is None else batch_sequences
    for piece, wanted in zip(tokens.split(pieces), targets.split(pieces), strict=True):
        with torch.enable_grad():
            loss = model.head_loss(model.hidden(piece, aliases), wanted) * (len(piece) / len(tokens))
        loss.backward(inputs=leaves)
    # Every leaf takes part in every loss, so none is without a gradient.
    return {
        step: {name: _gradient(leaf) for name, leaf in by_name.items()} for step, by_name in aliases.items()
    }


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


def _gradient(leaf: Tensor) -> Tensor:
    assert leaf.grad is not None
    return leaf.grad


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
