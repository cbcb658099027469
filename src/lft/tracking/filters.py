"""What narrows the runs of a project: W&B's own filter as JSON, or plain `key=value`."""

import json
from typing import Any

from lft.errors import RequestError

# What a run has at W&B beside its config; as `wandb.Api.runs` names them.
RUN_FIELDS = frozenset(
    "state group tags name display_name displayName job_type jobType host username sweep created_at "
    "createdAt heartbeat_at duration".split()
)
EXAMPLES = 'arm=lft,scale_name=10m or {"config.routing.name": "lft", "state": "finished"}'


def parse_filter(text: str) -> dict[str, Any]:
    """The filter that `wandb.Api.runs` takes.

    Args:
        text: JSON in MongoDB's query language; or `key=value`, several separated by commas, where a key is
            one of the run at W&B (`state`, `group`, `tags`, …), or else of its config
            (`routing.name=lft`). Empty for no filter.

    Raises:
        RequestError: It is neither.
    """
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError as error:
            raise RequestError(f"filter={text} is not valid JSON: {error}; try {EXAMPLES}") from error
    conditions = [condition.strip() for condition in text.split(",") if condition.strip()]
    return dict(_condition(condition) for condition in conditions)


def _condition(text: str) -> tuple[str, Any]:
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals and value):
        raise RequestError(f"'{text}' in filter= is not key=value; try {EXAMPLES}")
    try:
        meaning = json.loads(value)
    except ValueError:
        meaning = value
    is_field = key in RUN_FIELDS or key.startswith(("config.", "summary_metrics."))
    return key if is_field else f"config.{key}", meaning
