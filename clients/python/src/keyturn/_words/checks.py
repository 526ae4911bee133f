"""Arguments, checked before anything is done with them. Raises WrongArgumentError naming argument, value and what is allowed."""

from __future__ import annotations

from collections.abc import Collection
from math import inf

from keyturn.errors import WrongArgumentError


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
    if value is not None and value not in words:
        allowed = ", ".join(repr(word) for word in words)
        raise WrongArgumentError(f"{name} is {value!r}; allowed are {allowed}", name)


def text_needed(name: str, value: str) -> str:
    if isinstance(value, str) and value:
        return value
    raise WrongArgumentError(f"{name} is {value!r}; needed is a text that is not empty", name)


def callable_needed(name: str, value: object) -> None:
    if not callable(value):
        raise WrongArgumentError(f"{name} is {value!r}; needed is a callable", name)


def timeout_of(name: str, value: float | None) -> float | None:
    return None if value is None else number_within(name, value, 0, inf)
