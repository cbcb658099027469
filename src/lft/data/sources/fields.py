"""The text inside a record."""

from collections.abc import Mapping
from typing import Any

from lft.errors import RequestError


def text_of(record: Mapping[str, Any], field: str, where: str) -> str:
    """The text of a record.

    Args:
        record: Fields by name.
        field: The one that holds the text.
        where: The record in words, for messages.

    Raises:
        RequestError: The field is missing, or no text.
    """
    if field not in record:
        raise missing_field(field, list(record), where)
    text = record[field]
    if not isinstance(text, str):
        raise RequestError(f"{where}: the field {field!r} holds {_kind(text)}, not text; mend or remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RequestError(f"{where}: half a surrogate pair is no character; mend or remove it") from None
    return text


def missing_field(field: str, present: list[str], where: str) -> RequestError:
    """The error that says which fields there are instead."""
    names = ", ".join(present) or "none"
    return RequestError(f"{where} has no field {field!r}; its fields are: {names}. Set data.text_field")


def _kind(value: object) -> str:
    return "null" if value is None else f"a value of type {type(value).__name__}"
