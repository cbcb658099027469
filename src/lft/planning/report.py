"""Plans as people and programs read them: a card for one, a table for several, JSON and CSV."""

import csv
import json
import sys
from dataclasses import asdict
from typing import Any, NamedTuple, TextIO

from lft.config import PlanConfig, plain_settings
from lft.planning.card import print_card
from lft.planning.claims import claim_remarks
from lft.planning.overview import print_overview
from lft.planning.plan import Plan, make_plan
from lft.runs import flatten, run_id


class Job(NamedTuple):
    """A planned run: the request, its plan, and the keys that make its run id."""

    config: PlanConfig
    plan: Plan
    settings: dict[str, Any]


class Report:
    """Collects plans, then prints them in the format asked for."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def add(self, config: PlanConfig) -> None:
        """Plan a request.

        Raises:
            RequestError: The request cannot be carried out.
        """
        self.jobs.append(Job(config, make_plan(config), plain_settings(config)))

    def print(self, file: TextIO | None = None) -> None:
        """Print all plans; nothing where there is none."""
        file = file or sys.stdout
        if not self.jobs:
            return
        config, rows = self.jobs[0].config, self.rows()
        if config.format == "json":
            print(json.dumps(rows, indent=2), file=file)
        elif config.format == "csv":
            _print_csv(rows, file)
        elif len(self.jobs) == 1:
            print_card(config, self.jobs[0].plan, rows[0], file)
        else:
            print_overview(
                [job.plan for job in self.jobs], rows, [job.settings for job in self.jobs], config, file
            )
            for remark in claim_remarks(job.config for job in self.jobs):
                print(remark, file=file)

    def rows(self) -> list[dict[str, Any]]:
        """One mapping of plain values for each plan."""
        return [_row(*job) for job in self.jobs]


def _row(config: PlanConfig, plan: Plan, settings: dict[str, Any]) -> dict[str, Any]:
    record, costs = plan.record(), asdict(plan.costs)
    return {
        "run_id": run_id(settings),
        "arm": plan.label,
        "scale": config.scale.name,
        "budget_tokens": config.budget.tokens,
        "seed": config.seed,
        **{key: record[key] for key in ("schedule", "num_blocks", "num_steps", "visit_map")},
        **costs,
        "non_embedding_parameters": costs["parameters"] - costs["embedding_parameters"],
        "optimizer_steps": plan.steps,
        "tokens": plan.tokens,
        "training_flops": plan.training_flops,
        **{f"training_flops_{part}": flops for part, flops in plan.training_flops_by_part.items()},
        **{key: value for key, value in record["costs"].items() if key.endswith("_to_standard")},
        "activation_bytes": plan.activation_bytes,
        "checkpoint_bytes": plan.checkpoint_bytes,
        "hours": plan.training_flops / (config.mfu * config.device_flops) / 3600,
        "match": record["match"],
        "twin": record["twin"],
    }


def _print_csv(rows: list[dict[str, Any]], file: TextIO) -> None:
    flat = [
        {
            key: " ".join(map(str, value)) if isinstance(value, list) else value
            for key, value in flatten(row).items()
        }
        for row in rows
    ]
    columns = list(dict.fromkeys(key for row in flat for key in row))
    writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
