"""Speed, measured side by side in one process and told as ratios."""

from lft.benchmarking.decoding_speed import measure_decoding_speed
from lft.benchmarking.diagnostics_cost import measure_diagnostics_cost
from lft.benchmarking.evaluation_speed import measure_evaluation_speed
from lft.benchmarking.loop_overhead import measure_loop_overhead
from lft.benchmarking.model_speed import measure_model_speed
from lft.benchmarking.ratio import Ratio

__all__ = [
    "Ratio",
    "measure_decoding_speed",
    "measure_diagnostics_cost",
    "measure_evaluation_speed",
    "measure_loop_overhead",
    "measure_model_speed",
]
