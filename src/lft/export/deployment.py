"""What an exported model takes to run: bytes on disk and in memory, latency, tokens per second."""

import multiprocessing
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import torch

from lft.export.formats import Format, LoadedModel
from lft.meters import energy_meter

PROMPT_TOKENS, NEW_TOKENS, TURNS = 16, 128, 5


@dataclass(frozen=True)
class DeploymentFigures:
    """Measured on one sequence, greedily, in float32, on this machine's processor.

    Attributes:
        file_bytes: Size of the weights' file.
        resident_bytes: Memory that loading and running the model adds to its process.
        first_token_seconds: Time to the first token after the prompt; median.
        tokens_per_second: Rate of the tokens after the first; None where the context holds too few to tell.
        prompt_tokens: Length of the prompt.
        new_tokens: Tokens added.
        joules_per_token: Energy that the machine's processors take for each added token, first one included;
            None where they have no counter.
    """

    file_bytes: int
    resident_bytes: int
    first_token_seconds: float
    tokens_per_second: float | None
    prompt_tokens: int
    new_tokens: int
    joules_per_token: float | None = None


def measure_deployment(folder: Path, form: Format, context_length: int) -> DeploymentFigures:
    """Load and run an exported folder in a process of its own, so that memory is the model's alone."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (folder, form, context_length))


def _measure(folder: Path, form: Format, context_length: int) -> DeploymentFigures:
    prompt_tokens = max(1, min(PROMPT_TOKENS, context_length // 2))
    new_tokens = min(NEW_TOKENS, context_length - prompt_tokens)
    prompt = np.arange(prompt_tokens)[None]
    before = psutil.Process().memory_info().rss
    model = form.load(folder)
    model.generate(prompt, new_tokens)
    resident = psutil.Process().memory_info().rss - before
    first = statistics.median(_seconds(model, prompt, 1) for _ in range(TURNS))
    whole, joules = _whole(model, prompt, new_tokens)
    rate = (new_tokens - 1) / (whole - first) if whole > first else None
    weights = (folder / form.weights).stat().st_size
    return DeploymentFigures(weights, resident, first, rate, prompt_tokens, new_tokens, joules)


def _whole(model: LoadedModel, prompt: np.ndarray, new_tokens: int) -> tuple[float, float | None]:
    """Median seconds of adding all tokens, and joules for each."""
    meter = energy_meter(torch.device("cpu"))
    seconds: list[float] = []
    started = meter.read() if meter else 0.0
    # Long enough that the counter's steps do not matter.
    least = 10 * meter.resolution if meter else 0.0
    while len(seconds) < TURNS or sum(seconds) < least:
        seconds.append(_seconds(model, prompt, new_tokens))
    spent = (meter.read() - started) / (len(seconds) * new_tokens) if meter else None
    return statistics.median(seconds), spent


def _seconds(model: LoadedModel, prompt: np.ndarray, new_tokens: int) -> float:
    start = time.perf_counter()
    model.generate(prompt, new_tokens)
    return time.perf_counter() - start


def deployment_facts(figures: DeploymentFigures) -> dict[str, str]:
    """The figures as a person reads them."""
    rate, joules = figures.tokens_per_second, figures.joules_per_token
    return {
        "File": f"{figures.file_bytes:,} bytes",
        "Resident memory it adds": f"{figures.resident_bytes:,} bytes",
        f"First token after {figures.prompt_tokens}": f"{figures.first_token_seconds * 1000:.1f} ms",
        "Tokens per second after it": "too few to tell" if rate is None else f"{rate:.1f}",
        "Energy for each token": "no counter" if joules is None else f"{joules:.3g} J",
    }
