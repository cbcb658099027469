"""Token by token: from prompts to continuations, with a cache that has one slot for every step."""

from collections.abc import Callable, Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lft.errors import RequestError
from lft.model import Cache, Transformer

Choose = Callable[[Float[Tensor, "batch vocab"]], Int[Tensor, " batch"]]


@torch.inference_mode()
def decode(
    model: Transformer,
    prompts: Sequence[Sequence[int]],
    max_tokens: int,
    choose: Choose,
    end_token: int | None = None,
    use_cache: bool = True,
) -> Iterator[list[int | None]]:
    """Continue prompts of any lengths together.

    Args:
        model: A trained model.
        prompts: Token ids, at least one each.
        max_tokens: Most tokens to add; fewer where prompt and continuation reach the context length.
        choose: Picks the next token of each sequence from its logits.
        end_token: Ends a sequence when chosen.
        use_cache: Whether keys and values are kept; without it every token runs all positions anew.

    Yields:
        The next token of each sequence, None for those that have ended.

    Raises:
        RequestError: A prompt leaves no room in the context.
    """
    context, longest = model.shape.context_length, max(len(prompt) for prompt in prompts)
    if longest >= context:
        raise RequestError(
            f"the prompt has {longest} tokens, but the model's context is {context} with what follows; "
            "shorten the prompt"
        )
    tokens, padding = _padded(prompts, model.embedding.weight.device)
    ended = torch.zeros(len(prompts), dtype=torch.bool)
    added = min(max_tokens, context - longest)
    cache = model.new_cache(padding, longest + added) if use_cache else None
    for _ in range(added):
        chosen = choose(_next_logits(model, tokens, padding, cache))
        yield [None if done else token for done, token in zip(ended.tolist(), chosen.tolist(), strict=True)]
        ended |= (chosen == end_token).cpu() if end_token is not None else False
        if ended.all():
            return
        tokens = torch.cat((tokens, chosen[:, None]), dim=1)


def _next_logits(
    model: Transformer, tokens: Tensor, padding: Tensor, cache: Cache | None
) -> Float[Tensor, "batch vocab"]:
    # Without a cache of its own every call fills a new one, which also sees to the padding.
    used = cache or model.new_cache(padding, tokens.shape[1])
    hidden = model.hidden(tokens[:, used.length :], cache=used)
    return model.head(hidden[:, -1:])[:, 0]


def _padded(
    prompts: Sequence[Sequence[int]], device: torch.device
) -> tuple[Int[Tensor, "batch time"], Int[Tensor, " batch"]]:
    longest = max(len(prompt) for prompt in prompts)
    padding = [longest - len(prompt) for prompt in prompts]
    rows = [[0] * empty + list(prompt) for empty, prompt in zip(padding, prompts, strict=True)]
    return torch.tensor(rows, device=device), torch.tensor(padding, device=device)
