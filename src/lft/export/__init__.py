"""Trained models as files that other programs load: Hugging Face folders and ONNX."""

from lft.export.deployment import DeploymentFigures, deployment_facts
from lft.export.formats import FORMATS
from lft.export.hub import check_account, push
from lft.export.hugging_face import stock_settings
from lft.export.job import export

__all__ = [
    "FORMATS",
    "DeploymentFigures",
    "check_account",
    "deployment_facts",
    "export",
    "push",
    "stock_settings",
]
