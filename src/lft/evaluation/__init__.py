"""Evaluation: tasks of lm-eval, Base Bench, bits per byte; per-item records into the run folder.

`lft.evaluation.job` is imported where it is used: lm-eval takes seconds to load.
"""

from lft.evaluation.settings import Settings, read_settings, setting_keys

__all__ = ["Settings", "read_settings", "setting_keys"]
