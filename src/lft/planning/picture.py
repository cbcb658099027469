"""A schedule drawn in characters: depth upwards, steps to the right."""

from lft.routing import Schedule

TALLEST = 24


def draw(schedule: Schedule, width: int = 100) -> list[str]:
    """The picture, line by line, deepest block on top.

    Each step shows the number of its visit. Schedules of many blocks are drawn as a curve, two blocks a
    line, and long ones without space between the steps.

    Args:
        schedule: The schedule.
        width: Characters a line may take.
    """
    if schedule.num_blocks > TALLEST:
        return _curve(schedule)
    gap = "" if 4 + 2 * schedule.num_steps > width else " "
    lines = []
    for block in reversed(range(schedule.num_blocks)):
        marks = [_mark(step.visit) if step.block == block else " " for step in schedule.steps]
        lines.append(f"{block + 1:>3} {gap.join(marks)}".rstrip())
    return lines


def _mark(visit: int) -> str:
    return str(visit + 1) if visit < 9 else "+"


def _curve(schedule: Schedule) -> list[str]:
    lines = []
    for lower in reversed(range(0, schedule.num_blocks, 2)):
        marks = [{lower: "▄", lower + 1: "▀"}.get(step.block, " ") for step in schedule.steps]
        lines.append(f"{lower + 1:>3} {''.join(marks)}".rstrip())
    return lines
