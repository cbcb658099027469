"""The charts of the dashboard, by section; their metrics are those that training logs."""

from typing import Any

import wandb_workspaces.reports.v2 as wr

from lft.analysis import STATISTIC_NAMES

Panels = list[Any]

AXIS_TITLES = {"train/tokens": "training tokens", "train/flops": "training FLOPs"}
MOST_RUNS = 200


def panel_sections() -> dict[str, Panels]:
    """Panels by the title of their section: loss, visits, cost and optimizer.

    Lines are means over the runs of a group of the runs table, with a band of one standard deviation.
    """
    return {
        "Loss": [
            _curve("Validation loss by tokens (nats)", "val/loss"),
            _curve("Validation loss by compute (nats)", "val/loss", x="train/flops"),
            _curve("Validation bits per byte by tokens", "val/bits_per_byte"),
            _curve("Training loss by tokens (nats)", "train/loss"),
        ],
        "Visits": [
            *(_visits(statistic) for statistic in ("gradient_share", "gradient_sum_cosine")),
            _line(
                "Cancellation of a block's gradients: 1 agree, 0 cancel",
                metric_regex=r"^visit/b\d+/gradient_cancellation$",
            ),
            *(_visits(statistic) for statistic in ("adamw_share", "update_ratio", "attention_entropy")),
            *(_visits(statistic) for statistic in ("readout_loss", "skip_difference", "residual_rms")),
            wr.MediaBrowser(
                title="Pictures",
                media_keys=[
                    f"visit/pictures/{name}"
                    for name in ("gradient_share", "gradient_cosines", "loss_by_step", "losses_without")
                ],
            ),
        ],
        "Cost": [
            _curve("Tokens per second", "perf/tokens_per_second"),
            _curve("Model FLOPs utilization", "perf/mfu"),
            _curve("Training time (s)", "perf/seconds"),
            _bars("Training FLOPs", "train_flops"),
            _bars("Peak memory (bytes)", "peak_memory_bytes"),
            _bars("Parameters", "parameters"),
        ],
        "Optimizer": [
            _curve("Learning rate", "optim/lr"),
            _curve("Gradient norm before clipping", "optim/grad_norm"),
        ],
    }


def _curve(title: str, metric: str, x: str = "train/tokens") -> Any:
    return _line(title, x, y=[metric])


def _visits(statistic: str) -> Any:
    title = STATISTIC_NAMES[statistic].capitalize()
    return _line(title, metric_regex=rf"^visit/b\d+_v\d+/{statistic}$")


def _line(title: str, x: str = "train/tokens", **metrics: Any) -> Any:
    return wr.LinePlot(
        title=title,
        x=x,
        title_x=AXIS_TITLES[x],
        groupby_aggfunc="mean",
        groupby_rangefunc="stddev",
        max_runs_to_show=MOST_RUNS,
        smoothing_type="none",
        **metrics,
    )


def _bars(title: str, summary: str) -> Any:
    return wr.BarPlot(
        title=title,
        metrics=[summary],
        groupby_aggfunc="mean",
        groupby_rangefunc="stddev",
        max_runs_to_show=MOST_RUNS,
    )
