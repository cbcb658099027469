"""A workspace and a report at Weights & Biases over all runs of a project, grouped by arm."""

from typing import Any

import wandb
import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws

from lft.analysis import ROUTING_COLOURS
from lft.errors import RequestError
from lft.tracking.account import has_account
from lft.tracking.panels import MOST_RUNS, panel_sections

TITLE = "Layer feedback: the route or the compute?"
# Keys that training adds to a run's config at the top, where grouping and filters address them alike.
ARM, SCALE = "arm", "scale_name"
COLUMNS = ["val_loss", "val_bits_per_byte", "train_tokens", "train_flops", "seconds", "peak_memory_bytes"]
INTRODUCTION = (
    "Arms of one seed start from equal weights and see equal batches. Lines are means over the seeds of an "
    "arm, bands one standard deviation between seeds. A difference counts when it is paired over seeds: see "
    "the notebooks `pair`, `controls` and `visits`."
)
NO_ACCOUNT = (
    "no account of Weights & Biases is configured (wandb login, or WANDB_API_KEY). Without one, "
    "`wandb leet runs` shows the curves in the terminal, and `python src/render_notebook.py "
    "source=notebooks/visits.py runs=runs out=visits.ipynb` the visits as a local report"
)


def publish(entity: str, project: str, scales: list[str]) -> list[str]:
    """Save the workspace and the report as new views of a project.

    Args:
        entity: User or team; the account's default when empty.
        project: The project that runs are logged to.
        scales: Scales that the report has a chapter for, and colours are set for.

    Returns:
        The addresses of both.

    Raises:
        RequestError: No account is configured, or Weights & Biases did not take them.
    """
    if not has_account():
        raise RequestError(NO_ACCOUNT)
    try:
        entity = entity or str(wandb.Api().default_entity)
        workspace = build_workspace(entity, project, scales)
        report = build_report(entity, project, scales)
        workspace.save()
        report.save()
    # The library raises whatever its transport does; none of it is a fault of ours.
    except Exception as error:
        raise RequestError(
            f"Weights & Biases did not take the dashboard of {entity or 'your account'}/{project}: {error}"
        ) from error
    return [workspace.url, report.url]


def build_workspace(entity: str, project: str, scales: list[str]) -> ws.Workspace:
    """Every chart against tokens, runs grouped by scale and arm, each routing in its own colour."""
    return ws.Workspace(
        name=TITLE,
        entity=entity,
        project=project,
        sections=[
            ws.Section(name=name, panels=panels, is_open=name in ("Loss", "Visits"))
            for name, panels in panel_sections().items()
        ],
        settings=ws.WorkspaceSettings(x_axis="train/tokens", max_runs=MOST_RUNS),
        runset_settings=ws.RunsetSettings(
            groupby=[ws.Config(SCALE), ws.Config(ARM)],
            group_colors={
                ws.GroupPath(scale, routing): colour
                for scale in scales
                for routing, colour in ROUTING_COLOURS.items()
            },
            pinned_columns=[f"summary:{column}" for column in COLUMNS],
        ),
    )


def build_report(entity: str, project: str, scales: list[str]) -> wr.Report:
    """The same charts as a document: a chapter for each scale, with the runs of that scale by arm."""
    blocks: list[Any] = [wr.TableOfContents(), wr.MarkdownBlock(text=INTRODUCTION)]
    for scale in scales:
        blocks.append(wr.H1(text=f"Scale {scale}"))
        for name, panels in panel_sections().items():
            blocks += [wr.H2(text=name), wr.PanelGrid(runsets=[_runs(entity, project, scale)], panels=panels)]
    return wr.Report(
        entity=entity, project=project, title=TITLE, description=INTRODUCTION, blocks=blocks, width="fluid"
    )


def _runs(entity: str, project: str, scale: str) -> wr.Runset:
    name = f"scale {scale}"
    return wr.Runset(
        entity=entity,
        project=project,
        name=name,
        filters=f"Config('{SCALE}') = '{scale}'",
        groupby=[f"config.{ARM}"],
    )
