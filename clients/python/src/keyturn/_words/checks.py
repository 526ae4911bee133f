"""Arguments, checked before anything is done with them. Raises WrongArgumentError naming argument, value and what is allowed."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from math import inf

from keyturn.errors import WrongArgumentError
from keyturn.words import Turn


def number_within(name: str, value: float, least: float, most: float) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and least <= value <= most:
        return value
    raise WrongArgumentError(f"{name} is {value!r}; allowed is a number from {least:g} to {most:g}", name)


def count_within(name: str, value: int, least: int, most: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise WrongArgumentError(f"{name} is {value!r}; allowed is a whole number from {least} to {most}", name)


def word_within(name: str, value: str | None, words: Collection[str]) -> None:
    if value is not None and not (isinstance(value, str) and value in words):
        allowed = ", ".join(repr(word) for word in words)
        raise WrongArgumentError(f"{name} is {value!r}; allowed are {allowed}", name)


def text_needed(name: str, value: str) -> str:
    if text_within(name, value):
        return value
    raise WrongArgumentError(f"{name} is {value!r}; needed is a text that is not empty", name)


def is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def turn_needed(name: str, value: Turn) -> None:
    if not isinstance(value, Turn):
        raise WrongArgumentError(f"{name} is {value!r:.80}; needed is a Turn", name)


def text_within(name: str, value: str) -> str:
    """Any that can be sent; what is none would be learnt from the first call only."""
    if is_text(value):
        return value
    raise WrongArgumentError(f"{name} is {value!r:.80}; needed is a text in Unicode", name)


def callable_needed(name: str, value: object) -> None:
    if not callable(value):
        raise WrongArgumentError(f"{name} is {value!r}; needed is a callable", name)


def plain_callable_needed(name: str, value: object) -> None:
    """What a coroutine function returns is no result: nobody would await it."""
    callable_needed(name, value)
    if inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(type(value).__call__):
        raise WrongArgumentError(f"{name} is {value!r}, an async def; needed is a plain function, or keyturn.aio", name)


def timeout_of(name: str, value: float | None) -> float | None:
    return None if value is None else number_within(name, value, 0, inf)
