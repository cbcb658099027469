"""Whether runs can go to an account at Weights & Biases."""

import os

import wandb
from wandb.sdk.lib import wbauth

from lft.errors import RequestError

# What became of the run folder, in a run's summary at Weights & Biases.
RUN_STATE = "run_state"
MODES = ("auto", "online", "offline", "disabled")


def resolve_mode(mode: str) -> str:
    """The W&B mode to use: `auto` is WANDB_MODE when set, online with an API key, else offline.

    Raises:
        RequestError: The mode is unknown.
    """
    if mode not in MODES:
        raise RequestError(f"logger.wandb.mode={mode} is unknown; choose one of {', '.join(MODES)}")
    if mode != "auto":
        return mode
    if os.environ.get("WANDB_MODE") in MODES[1:]:
        return os.environ["WANDB_MODE"]
    return "online" if has_account() else "offline"


def has_account() -> bool:
    """Whether an API key is configured, in the environment or by a login."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = wandb.setup().settings.base_url
    try:
        return wbauth.read_netrc_auth(host=wbauth.HostUrl(host)) is not None
    except Exception:
        # An unreadable netrc is no key.
        return False
