"""Measure speed: python src/benchmark.py scale=2_5m. Prints ratios with their spread."""

import hydra

from lft.command_line import job, prepare_hydra, run
from lft.config import TrainConfig

prepare_hydra()


@hydra.main(version_base="1.3", config_path="../conf", config_name="benchmark")
@job
def main(config: TrainConfig) -> None:
    """Compare model, training loop, diagnostics, decoding and evaluation with their yardsticks."""
    from lft.benchmarking import (
        measure_decoding_speed,
        measure_diagnostics_cost,
        measure_evaluation_speed,
        measure_loop_overhead,
        measure_model_speed,
    )

    print(measure_model_speed(config), flush=True)
    print(measure_loop_overhead(config), flush=True)
    print(*measure_diagnostics_cost(config), sep="\n", flush=True)
    print(measure_decoding_speed(config), flush=True)
    print(measure_evaluation_speed(config), flush=True)


if __name__ == "__main__":
    run(main)
