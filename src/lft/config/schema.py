"""The typed shape of a training request; the values live in `conf/`."""

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from lft.config.checks import choose
from lft.config.conditions import MatchConfig, OptimizerConfig, SharingConfig
from lft.config.diagnostics import DiagnosticsConfig
from lft.data import DataConfig
from lft.errors import RequestError
from lft.runs import Claim


@dataclass
class RoutingConfig:
    """A routing; its further keys are the options of the function of that name in `lft.routing`."""

    name: str = MISSING
    share: Any = "all"
    """Blocks that keep one set of weights over all their visits: all, none or a list such as [2,3]."""


@dataclass
class ScaleConfig:
    """A model size, with the batch and learning rate that suit it."""

    name: str = MISSING
    num_blocks: int = MISSING
    """Stored blocks N."""
    d_model: int = MISSING
    """Width of the residual stream."""
    num_heads: int = MISSING
    """Query heads."""
    num_kv_heads: int | None = None
    """Key and value heads; as many as query heads when not given."""
    d_ff: int = MISSING
    """Hidden width of the SwiGLU."""
    context_length: int = 768
    """Tokens per training sequence."""
    qk_norm: bool = False
    """RMSNorm on queries and keys."""
    rope_theta: float = 10_000.0
    """Base of the rotary wavelengths."""
    norm_epsilon: float = 1e-5
    """Added to the mean square in every RMSNorm."""
    batch_tokens: int = MISSING
    """Tokens per optimizer step that suit this size."""
    learning_rate: float = MISSING
    """Peak learning rate that suits this size."""


@dataclass
class BudgetConfig:
    """How long a run trains, in tokens; everything else is derived from it."""

    tokens: int = MISSING
    """Training tokens; rounded down to whole optimizer steps."""
    milestones: int = 10
    """Evenly spaced points at which validation runs and a checkpoint is kept; the last is the end."""


@dataclass
class PathsConfig:
    """Where things lie."""

    runs: str = "runs"
    """Run folders."""
    prepared: str = "prepared"
    """Tokenizers and token shards."""


@dataclass
class PrepareConfig:
    """A request to `prepare.py`."""

    budget: BudgetConfig = MISSING
    data: DataConfig = MISSING
    paths: PathsConfig = field(default_factory=PathsConfig)


@dataclass
class TrainConfig:
    """A request to `train.py`."""

    routing: RoutingConfig = MISSING
    scale: ScaleConfig = MISSING
    budget: BudgetConfig = MISSING
    data: DataConfig = MISSING
    optimizer: OptimizerConfig = MISSING
    sharing: SharingConfig = field(default_factory=SharingConfig)
    match: MatchConfig = MISSING
    diagnostics: DiagnosticsConfig = MISSING
    claims: dict[str, Claim] = field(default_factory=dict)
    """What the runs of a sweep are to decide, written down before they are looked at, by name."""
    seed: int = 0
    """Initial weights and batch order, each from a generator of its own."""
    precision: str = "auto"
    """auto, fp32 or bf16; auto is bf16 where the hardware computes in it."""
    compile: str = "auto"
    """auto, true or false; auto compiles where a compiler for the device is installed."""
    peak_flops: float | None = None
    """FLOPs per second one device could do; looked up or measured when not given."""
    force: bool = False
    """Delete what an earlier start of this run left, and start over."""
    retry: bool = False
    """Resume a run that failed."""
    paths: PathsConfig = field(default_factory=PathsConfig)
    trainer: dict[str, Any] = field(default_factory=dict)
    """Keys of `lightning.Trainer`: where the run executes and how often it logs."""
    logger: dict[str, Any] = field(default_factory=dict)
    """Loggers by name, each with a `_target_`; `metrics.jsonl` is always written."""
    callbacks: dict[str, Any] = field(default_factory=dict)
    """Further Lightning callbacks by name, each with a `_target_`."""

    def __post_init__(self) -> None:
        # `compile=true` reaches a text field as "True".
        self.compile = self.compile.lower()
        choose("precision", self.precision, ("auto", "fp32", "bf16"))
        choose("compile", self.compile, ("auto", "true", "false"))
        if self.seed < 0:
            raise RequestError(f"seed={self.seed} must be 0 or more")
        if self.peak_flops is not None and self.peak_flops <= 0:
            raise RequestError(f"peak_flops={self.peak_flops} must be above 0")


@dataclass
class PlanConfig(TrainConfig):
    """A request to `plan.py`."""

    format: str = "table"
    """table, json or csv."""
    mfu: float = MISSING
    """Share of `peak_flops` that training reaches."""

    def __post_init__(self) -> None:
        super().__post_init__()
        choose("format", self.format, ("table", "json", "csv"))
        if not 0 < self.mfu <= 1:
            raise RequestError(f"mfu={self.mfu} must be above 0 and at most 1")
        if self.peak_flops is None:
            raise RequestError("peak_flops has no value; give the device's FLOPs per second, such as 312e12")

    @property
    def device_flops(self) -> float:
        """FLOPs per second the device could do."""
        assert self.peak_flops is not None
        return self.peak_flops
