"""The conditions of training: the optimizer, how shared blocks are treated, and what is held equal."""

from dataclasses import dataclass

from omegaconf import MISSING

from lft.config.checks import choose
from lft.errors import RequestError


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

    def __post_init__(self) -> None:
        # Each bound with the values it allows, so that a slip of the keyboard does not train for a day.
        bounds = {
            "learning_rate": (self.learning_rate > 0, "above 0"),
            "batch_tokens": (self.batch_tokens > 0, "above 0"),
            "micro_batch_sequences": (self.micro_batch_sequences > 0, "above 0"),
            "beta1": (0 <= self.beta1 < 1, "from 0 up to but not 1"),
            "beta2": (0 <= self.beta2 < 1, "from 0 up to but not 1"),
            "epsilon": (self.epsilon > 0, "above 0"),
            "weight_decay": (self.weight_decay >= 0, "0 or more"),
            "warmup_fraction": (0 <= self.warmup_fraction < 1, "from 0 up to but not 1"),
            "final_fraction": (0 <= self.final_fraction <= 1, "from 0 to 1"),
            "gradient_clip": (self.gradient_clip > 0, "above 0"),
        }
        for key, (allowed, meaning) in bounds.items():
            if not allowed:
                raise RequestError(f"optimizer.{key}={getattr(self, key)} must be {meaning}")


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
            choose(f"sharing.{key}", getattr(self, key), allowed)
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
        choose("match.by", self.by, ("tokens", "flops", "wallclock", "energy"))
        if self.max_epochs <= 0:
            raise RequestError(f"match.max_epochs={self.max_epochs} must be above 0")
