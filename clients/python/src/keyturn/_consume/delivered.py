"""A turn with its items, as a handler gets it."""

from __future__ import annotations

from collections.abc import Sequence

from keyturn.words import Delivery, Item


class Delivered:
    """Part of both `Work`."""

    _delivery: Delivery

    @property
    def queue(self) -> str:
        """Whose turn it is, with `key`."""
        return self._delivery.turn.queue

    @property
    def key(self) -> str:
        """Empty for a keyless item."""
        return self._delivery.turn.key

    @property
    def token(self) -> int:
        """Grows with every turn of the queue: let what you write to refuse a smaller one than it has seen."""
        return self._delivery.turn.token

    @property
    def attempt(self) -> int:
        """Which try of the first item this is, from 1."""
        return self._delivery.turn.attempt

    @property
    def items(self) -> Sequence[Item]:
        """Consecutive items of the key, in order; at least one."""
        return self._delivery.items

    @property
    def item(self) -> Item:
        """The first of them; with `max_items_per_turn=1` the only one."""
        return self._delivery.items[0]
