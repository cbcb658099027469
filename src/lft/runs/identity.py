"""The name of a run: readable in front, a hash of everything that can change its result behind."""

import hashlib
import json
from typing import Any

# Where and how a run executes, or whether it may start; not what it computes. Batches are the same on any
# number of devices and loader workers, so a run may resume on another machine.
RESULT_FREE_KEYS = frozenset(
    "trainer logger callbacks diagnostics paths peak_flops force retry data.loader_workers data.shard_tokens "
    "match.max_epochs claims".split()
)

# The parts of a config that make an arm; its label names what is unusual in them.
ARM_KEYS = ("routing", "sharing", "match")


def result_keys(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A resolved config without the keys that cannot change a result."""
    return {
        key: result_keys(value, f"{prefix}{key}.") if isinstance(value, dict) else value
        for key, value in config.items()
        if f"{prefix}{key}" not in RESULT_FREE_KEYS
    }


def config_hash(config: dict[str, Any]) -> str:
    """Eight hexadecimal digits over every key of a resolved config that can change a result."""
    text = json.dumps(result_keys(config), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def run_id(config: dict[str, Any]) -> str:
    """`{routing}-{scale}-{budget}-s{seed}-{hash}` of a resolved config."""
    parts = (
        config["routing"]["name"],
        config["scale"]["name"],
        token_label(config["budget"]["tokens"]),
        f"s{config['seed']}",
        config_hash(config),
    )
    return "-".join(parts)


def token_label(tokens: int) -> str:
    """A token count as people write it: 500m, 1b, 600k, or the plain number when it is not round."""
    for suffix, unit in (("b", 10**9), ("m", 10**6), ("k", 10**3)):
        if tokens >= unit and tokens % unit == 0:
            return f"{tokens // unit}{suffix}"
    return str(tokens)
