"""Weights & Biases apart from training: the account; in `dashboard` views, in `download` runs as folders."""

from lft.tracking.account import RUN_STATE, has_account, resolve_mode

__all__ = ["RUN_STATE", "has_account", "resolve_mode"]
