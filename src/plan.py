"""Show what runs will do and cost, before any starts: python src/plan.py routing=lft,standard scale=2_5m."""

import hydra

from lft.command_line import job, prepare_hydra, run
from lft.config import PlanConfig
from lft.planning import Report

prepare_hydra()
report = Report()


@hydra.main(version_base="1.3", config_path="../conf", config_name="plan")
@job
def plan(config: PlanConfig) -> None:
    """Plan one run of however many are asked for."""
    report.add(config)


def main() -> None:
    """Plan all, then show those that can be."""
    try:
        plan()
    finally:
        report.print()


if __name__ == "__main__":
    run(main, count_jobs=False)
