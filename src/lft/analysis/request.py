"""Requests on the command line as `key=value`, for entry points that start at once."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lft.errors import RequestError, RunFailed

HELP = ("-h", "--help", "help")


def answer(
    arguments: Sequence[str], defaults: Mapping[str, str], action: Callable[[dict[str, str]], None]
) -> int:
    """Carry out a request and return the exit code: 0 done, 1 failed, 2 the request was wrong.

    Args:
        arguments: What was typed, without the program's name.
        defaults: Every key with its value when not given.
        action: Does what was asked, given every key's value.
    """
    if any(argument in HELP for argument in arguments):
        print(f"keys and their defaults: {' '.join(f'{key}={value}' for key, value in defaults.items())}")
        return 0
    try:
        action(parse_request(arguments, defaults))
        sys.stdout.flush()
    except RequestError as error:
        print(error, file=sys.stderr)
        return 2
    except RunFailed as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader (`head`, a closed pager) has seen enough. Python flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def parse_request(arguments: Sequence[str], defaults: Mapping[str, str]) -> dict[str, str]:
    """Every key's value, as given or by default.

    Raises:
        RequestError: An argument is not `key=value`, or its key is unknown or repeated.
    """
    given: dict[str, str] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            raise RequestError(f"'{argument}' is not key=value; the keys are {', '.join(defaults)}")
        if key not in defaults:
            raise RequestError(f"unknown key '{key}'; the keys are {', '.join(defaults)}")
        if not value and defaults[key]:
            raise RequestError(f"'{argument}' has no value; leave {key} out for {defaults[key]}")
        if key in given:
            raise RequestError(f"'{key}' is given twice")
        given[key] = value
    return {**defaults, **given}


def choose(key: str, value: str, choices: Sequence[str]) -> str:
    """The value, when it is one of the choices.

    Raises:
        RequestError: It is not.
    """
    if value not in choices:
        raise RequestError(f"{key}={value} is not one of {', '.join(choices)}")
    return value


def number(request: Mapping[str, str], key: str, kind: type) -> Any:
    """The value of a key as a number.

    Raises:
        RequestError: It is none of this kind.
    """
    try:
        return kind(request[key])
    except ValueError:
        meaning = "a whole number" if kind is int else "a number"
        raise RequestError(f"{key}={request[key]} must be {meaning}") from None
