"""What is measured of each visit while a run trains."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from lft.errors import RequestError
from lft.routing import find_plain_routing


@dataclass
class DiagnosticsConfig:
    """Probes of every visit; they change nothing in the run."""

    enabled: bool = MISSING
    """Whether anything is measured."""
    every_tokens: int = 5_000_000
    """Training tokens between two probes of gradients and activations; start and end are probed too."""
    probe_sequences: int = 4
    """Held-out sequences of a probe, the same for every arm and seed."""
    knockout_sequences: int = 32
    """Held-out sequences on which steps are skipped at milestones; 0 skips none."""
    knockout_routes: list[str] = field(default_factory=lambda: ["standard", "lft"])
    """Routings that every trained model is run along at milestones, beside one revisit more and fewer."""

    def __post_init__(self) -> None:
        bounds = {"every_tokens": 1, "probe_sequences": 1, "knockout_sequences": 0}
        for key, least in bounds.items():
            if getattr(self, key) < least:
                raise RequestError(f"diagnostics.{key}={getattr(self, key)} must be {least} or more")
        for name in self.knockout_routes:
            find_plain_routing(name, "diagnostics.knockout_routes")
