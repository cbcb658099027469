"""Pictures of one run, drawn into its folder while it trains."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from lft.analysis.visit_figures import loss_by_step, losses_without, visit_cosines, visit_heat_map
from lft.analysis.visits import visits_table
from lft.errors import RequestError
from lft.runs import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_pictures(folder: RunFolder) -> dict[str, Path]:
    """Draw the visits of a run into its folder `pictures/`.

    Returns:
        The files by what they show; what was not measured, such as pairs of visits without revisits, has no
        picture.
    """
    import matplotlib

    # Where nobody has chosen how to draw: a training run opens no window.
    if matplotlib.get_backend(auto_select=False) is None:
        matplotlib.use("agg")
    visits = visits_table(folder.path, unfinished=True)
    drawings: dict[str, Callable[[pd.DataFrame], Figure]] = {
        "gradient_share": visit_heat_map,
        "gradient_cosines": visit_cosines,
        "loss_by_step": loss_by_step,
        "losses_without": losses_without,
    }
    folder.pictures.mkdir(exist_ok=True)
    written = {}
    for name, draw in drawings.items():
        try:
            figure = draw(visits)
        except RequestError:
            continue
        written[name] = folder.pictures / f"{name}.png"
        figure.savefig(written[name])
    return written
