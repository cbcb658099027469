"""Weights & Biases apart from training: the account, and in `dashboard` a workspace and report."""

from lft.tracking.account import RUN_STATE, has_account, resolve_mode

__all__ = ["RUN_STATE", "has_account", "resolve_mode"]
