"""Decoding with a cache beside decoding without."""

import torch

from lft.benchmarking.ratio import Ratio
from lft.benchmarking.turns import timed
from lft.config import TrainConfig
from lft.inference import Sampler, decode
from lft.model import Transformer, initialize
from lft.planning import make_plan

TURNS, PROMPT_TOKENS, NEW_TOKENS = 3, 16, 512


def measure_decoding_speed(config: TrainConfig) -> Ratio:
    """Decode 512 tokens (or what the context holds) after a short prompt, both ways in turn, in float32."""
    plan = make_plan(config)
    model = Transformer(plan.shape, plan.schedule)
    initialize(model, config.seed)
    prompt = torch.randint(plan.shape.vocab_size, (PROMPT_TOKENS,), generator=torch.manual_seed(0)).tolist()

    most = min(NEW_TOKENS, plan.shape.context_length - PROMPT_TOKENS)

    def seconds(use_cache: bool, new_tokens: int = most) -> float:
        choose = Sampler(temperature=0.0)
        return timed(lambda: list(decode(model, [prompt], new_tokens, choose, use_cache=use_cache)))

    for use_cache in (True, False):
        seconds(use_cache, new_tokens=4)
    turns = [(seconds(True), seconds(False)) for _ in range(TURNS)]
    return Ratio.of_turns(f"decoding {most} tokens with the cache", turns)
