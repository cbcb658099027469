"""What values of a config may be."""

from lft.errors import RequestError


def choose(key: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not among the allowed ones.

    Raises:
        RequestError: It is not.
    """
    if value not in allowed:
        raise RequestError(f"{key}={value} is unknown; choose one of {', '.join(allowed)}")
