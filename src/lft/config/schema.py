"""The typed shape of a training request; the values live in `conf/`."""

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from lft.data import DataConfig
from lft.errors import RequestError


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
class OptimizerConfig:
    """AdamW with warmup and cosine decay."""

    learning_rate: float = MISSING
    """Peak learning rate."""
    batch_tokens: int = MISSING
    """Tokens per optimizer step, over all devices and accumulation steps."""
    micro_batch_sequences: int = 16
    """Most sequences a device works on at once; the batch is accumulated from such pieces."""
    beta1: float = 0.9
    """Decay of the gradient average."""
    beta2: float = 0.95
    """Decay of the squared-gradient average."""
    epsilon: float = 1e-8
    """Added to the root of the squared-gradient average."""
    weight_decay: float = 0.1
    """Decoupled decay of all matrices, the embedding among them; norm gains do not decay."""
    warmup_fraction: float = 0.02
    """Share of the optimizer steps over which the learning rate rises from 0."""
    final_fraction: float = 0.1
    """Share of the peak learning rate left at the end of the cosine."""
    gradient_clip: float = 1.0
    """Largest gradient norm; longer gradients are scaled down to it."""


@dataclass
class SharingConfig:
    """Training conditions that weigh on shared blocks; the defaults treat a visit like any other step."""

    residual_init: str = "stored_depth"
    """Initial matrices that write to the residual stream are divided by sqrt(2 depth): the stored_depth, the
    execution_depth, or visits: visits of the block x sqrt(2 stored depth)."""
    learning_rate: str = "equal"
    """equal, or divided by the visits of the block, or by sqrt_visits."""
    weight_decay: str = "equal"
    """equal, or divided by the visits of the block, or by sqrt_visits."""
    gradient: str = "all"
    """Which visits train their block: all, first or last; activations pass gradients on at every visit."""
    visit_conditioning: str = "none"
    """What each step learns for itself: none, a scale of its update, or gains of the block's norm layers."""
    feedback_after: float = 0.0
    """Share of the optimizer steps that run first visits only, before revisits start."""

    def __post_init__(self) -> None:
        divisors = ("equal", "visits", "sqrt_visits")
        choices = {
            "residual_init": ("stored_depth", "execution_depth", "visits"),
            "learning_rate": divisors,
            "weight_decay": divisors,
            "gradient": ("all", "first", "last"),
            "visit_conditioning": ("none", "scale", "norm"),
        }
        for key, allowed in choices.items():
            _choose(f"sharing.{key}", getattr(self, key), allowed)
        if not 0 <= self.feedback_after < 1:
            raise RequestError(f"sharing.feedback_after={self.feedback_after} must be from 0 up to but not 1")


@dataclass
class MatchConfig:
    """What a run has in common with a run of another routing at the same scale and budget."""

    by: str = MISSING
    """tokens, flops, wallclock or energy."""
    reference: str = "standard"
    """The routing, with its default options, whose cost over the budget is met."""
    max_epochs: float = 1.0
    """How often a matched run may read its training text; budgets read it as often as they need."""

    def __post_init__(self) -> None:
        _choose("match.by", self.by, ("tokens", "flops", "wallclock", "energy"))
        if self.max_epochs <= 0:
            raise RequestError(f"match.max_epochs={self.max_epochs} must be above 0")


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
        _choose("precision", self.precision, ("auto", "fp32", "bf16"))
        _choose("compile", self.compile, ("auto", "true", "false"))
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
        _choose("format", self.format, ("table", "json", "csv"))
        if not 0 < self.mfu <= 1:
            raise RequestError(f"mfu={self.mfu} must be above 0 and at most 1")
        if self.peak_flops is None:
            raise RequestError("peak_flops has no value; give the device's FLOPs per second, such as 312e12")

    @property
    def device_flops(self) -> float:
        """FLOPs per second the device could do."""
        assert self.peak_flops is not None
        return self.peak_flops


def _choose(key: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise RequestError(f"{key}={value} is unknown; choose one of {', '.join(allowed)}")
