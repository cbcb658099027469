"""What each visit of a block does: its gradient, its activations, and what is lost without it.

Pure functions of a model and tokens; they leave the model, and torch's random state, as they were.
"""

from lft.diagnostics.activations import activation_readings
from lft.diagnostics.gradients import Preconditioner, gradient_readings, visit_gradients
from lft.diagnostics.knockouts import knockout_readings, sequence_losses
from lft.diagnostics.reading import Reading

__all__ = [
    "Preconditioner",
    "Reading",
    "activation_readings",
    "gradient_readings",
    "knockout_readings",
    "sequence_losses",
    "visit_gradients",
]
