"""Weights & Biases apart from training: the account, and in `dashboard` a workspace and report."""

from lft.tracking.account import has_account, resolve_mode

__all__ = ["has_account", "resolve_mode"]
