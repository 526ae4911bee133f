"""Ids that are unique everywhere."""

from __future__ import annotations

import secrets
from itertools import count


class Ids:
    """120 random bits that belong to the maker, and a count: a random id for each would be longer, and dearer."""

    def __init__(self) -> None:
        self._origin = secrets.token_urlsafe(15)
        self._numbers = count(1)

    def new(self) -> str:
        return f"{self._origin}.{next(self._numbers):x}"
