"""Several plans: the schedules side by side, a table of costs, and the sum."""

from typing import Any, TextIO

from rich.columns import Columns
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from lft.config import PlanConfig
from lft.planning.card import hours, short_hours
from lft.planning.picture import draw
from lft.planning.plan import Plan
from lft.runs import ARM_KEYS, as_text, flatten, result_keys, varying_keys
from lft.terminal import make_table, short, show


def print_overview(
    plans: list[Plan],
    rows: list[dict[str, Any]],
    settings: list[dict[str, Any]],
    config: PlanConfig,
    file: TextIO,
) -> None:
    """Print several plans.

    Args:
        plans: The plans.
        rows: The same as plain values.
        settings: The config of each.
        config: A request among them, for the assumptions on the device.
        file: Where to print.
    """
    _print_pictures(plans, rows, file)
    varying = _varying_settings(rows, settings)
    show([_table(rows, varying)], file)
    flops = sum(row["training_flops"] for row in rows)
    time = hours(config, sum(row["hours"] for row in rows))
    print(f"\n{len(rows)} runs, {flops:.3g} training FLOPs, {time}", file=file)
    # Runs that differ in the seed alone have the same to say.
    remarks = [
        f"{plan.label} {row['scale']}: {remark}"
        for plan, row in zip(plans, rows, strict=True)
        for remark in plan.remarks()
    ]
    print(*dict.fromkeys(remarks), sep="\n", end="\n" if remarks else "", file=file)


def _print_pictures(plans: list[Plan], rows: list[dict[str, Any]], file: TextIO) -> None:
    """Every schedule of the first scale, once."""
    labels: dict[tuple[int, ...], list[str]] = {}
    pictures: dict[tuple[int, ...], list[str]] = {}
    for plan, row in zip(plans, rows, strict=True):
        if row["scale"] == rows[0]["scale"]:
            order = tuple(plan.schedule.block_order)
            labels.setdefault(order, [])
            if plan.label not in labels[order]:
                labels[order].append(plan.label)
            pictures[order] = draw(plan.schedule)
    panels = [_panel(", ".join(names), pictures[order]) for order, names in labels.items()]
    Console(file=file, highlight=False).print(Columns(panels))


def _panel(title: str, picture: list[str]) -> Panel:
    # Rich would cut a title longer than the picture.
    width = max(len(line) for line in [title + "  ", *picture]) + 4
    return Panel("\n".join(picture), title=escape(title), title_align="left", width=width)


def _table(rows: list[dict[str, Any]], varying: list[dict[str, str]]) -> Table:
    numbers = ["seed", "steps", "optim.\nsteps", "\ntokens", "param-\neters", "forward\nFLOPs/token"]
    numbers += ["ratio\nsteps", "ratio\nFLOPs", "training\nFLOPs", "KV bytes\n/token", "hours"]
    table = make_table(["arm", "scale"], numbers, list(varying[0]))
    for row, values in zip(rows, varying, strict=True):
        table.add_row(
            escape(row["arm"]),
            escape(row["scale"]),
            str(row["seed"]),
            str(row["num_steps"]),
            f"{row['optimizer_steps']:,}",
            short(row["tokens"]),
            short(row["parameters"]),
            short(row["forward_flops_per_token"]),
            f"{row['steps_ratio_to_standard']:.2f}",
            f"{row['total_flop_ratio_to_standard']:.2f}",
            f"{row['training_flops']:.2e}",
            f"{row['kv_bytes_per_token']:,}",
            short_hours(row["hours"]),
            *map(escape, values.values()),
        )
    return table


def _varying_settings(rows: list[dict[str, Any]], settings: list[dict[str, Any]]) -> list[dict[str, str]]:
    """For each job, what differs between jobs and is not told by arm, scale and seed."""
    told = {*ARM_KEYS, "seed"}
    flats = [
        flatten({key: value for key, value in result_keys(values).items() if key not in told})
        for values in settings
    ]
    by_scale: dict[str, list[dict[str, Any]]] = {}
    for row, flat in zip(rows, flats, strict=True):
        by_scale.setdefault(row["scale"], []).append(flat)
    keys = sorted({key for members in by_scale.values() for key in varying_keys(members)})
    return [{key: as_text(flat.get(key)) for key in keys} for flat in flats]
