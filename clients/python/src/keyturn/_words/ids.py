"""Ids that are unique everywhere."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from itertools import count

from keyturn.words import FollowUp, NewItem


class Ids:
    """120 random bits that belong to the maker, and a count: a random id for each would be longer, and dearer."""

    def __init__(self) -> None:
        self._origin = secrets.token_urlsafe(15)
        self._numbers = count(1)

    def new(self) -> str:
        return f"{self._origin}.{next(self._numbers):x}"


def named(item: NewItem, ids: Ids) -> NewItem:
    """With an id: sent again after a lost answer, an item without one would be another."""
    return item if item.item_id else item._replace(item_id=ids.new())


def named_follow_ups(follow_ups: Iterable[FollowUp], ids: Ids) -> list[FollowUp]:
    return [one if one.item.item_id else FollowUp(one.queue, named(one.item, ids)) for one in follow_ups]
