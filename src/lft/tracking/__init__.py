"""Weights & Biases apart from training: the account, and a workspace and report over all runs."""

from lft.tracking.account import has_account, resolve_mode
from lft.tracking.dashboard import build_report, build_workspace, publish
from lft.tracking.panels import Panels, panel_sections

__all__ = [
    "Panels",
    "build_report",
    "build_workspace",
    "has_account",
    "panel_sections",
    "publish",
    "resolve_mode",
]
