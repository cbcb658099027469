"""Training jobs: LightningModule, DataModule, callbacks and loggers; the only importer of Lightning."""

from lft.training.callbacks import MetricsLogger, Milestones, StepCallback
from lft.training.job import train
from lft.training.language_model import LanguageModel
from lft.training.progress import TokenProgress
from lft.training.validation import ValidationSet
from lft.training.visit_diagnostics import VisitDiagnostics
from lft.training.weights_and_biases import WeightsAndBiases

__all__ = [
    "LanguageModel",
    "MetricsLogger",
    "Milestones",
    "StepCallback",
    "TokenProgress",
    "ValidationSet",
    "VisitDiagnostics",
    "WeightsAndBiases",
    "train",
]
