"""What was added to a producer and is not settled, in order, bounded in items and bytes."""

from __future__ import annotations

import asyncio
from collections import deque
from math import inf
from typing import Protocol

from keyturn._produce.options import ProducerResult
from keyturn.words import NewItem


class Entry:
    """An item on its way, and the future of what becomes of it."""

    __slots__ = ("deadline", "future", "item", "since", "size")

    def __init__(
        self, item: NewItem, size: int, since: float, deadline: float, future: asyncio.Future[ProducerResult]
    ) -> None:
        self.item = item
        self.size = size
        self.since = since
        self.deadline = deadline
        """By the clock: not tried any more after this."""
        self.future = future


class Settling(Protocol):
    """Where it is told what became of entries."""

    def resolve(self, entry: Entry, result: ProducerResult) -> None: ...

    def reject(self, entry: Entry, error: Exception) -> None: ...


class BoundedQueue:
    """Entries in order, bounded in items and bytes."""

    def __init__(self, most_items: float, most_bytes: float) -> None:
        self._most_items = most_items
        self._most_bytes = most_bytes
        self.entries: deque[Entry] = deque()
        self.bytes = 0

    def fits(self, size: int, items: int = 0, taken: int = 0) -> bool:
        """`items`, `taken`: what counts besides. One that is larger than the bound is taken alone."""
        count = len(self.entries) + items
        return count == 0 or (count < self._most_items and self.bytes + taken + size <= self._most_bytes)

    def push(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.bytes += entry.size

    def pop(self) -> Entry:
        entry = self.entries.popleft()
        self.bytes -= entry.size
        return entry


class Backlog:
    """On its way, admitted, and (when full items wait) waiting for room, which is bounded by the same again."""

    def __init__(self, max_items: int, max_bytes: int, waits: bool) -> None:
        self._admitted = BoundedQueue(max_items, max_bytes)
        self._waiting = BoundedQueue(max_items if waits else 0, max_bytes if waits else 0)
        self._waits = waits
        self._on_its_way = 0
        self._bytes_on_their_way = 0

    @property
    def admitted(self) -> int:
        return len(self._admitted.entries)

    @property
    def bytes(self) -> int:
        return self._admitted.bytes

    @property
    def size(self) -> int:
        """Everything that is not settled."""
        return self._on_its_way + len(self._admitted.entries) + len(self._waiting.entries)

    @property
    def first(self) -> Entry | None:
        for queue in (self._admitted, self._waiting):
            if queue.entries:
                return queue.entries[0]
        return None

    @property
    def has_room(self) -> bool:
        """Whether an item that comes now is admitted at once, if it is not large."""
        return not self._waiting.entries and self._room_for(1)

    def add(self, entry: Entry) -> bool:
        """False: there is no room."""
        if not self._waiting.entries and self._room_for(entry.size):
            self._admitted.push(entry)
            return True
        if self._waits and self._waiting.fits(entry.size):
            self._waiting.push(entry)
            return True
        return False

    def take(self, count: int, size: int) -> list[Entry]:
        """The first entries, at least one if there is one. They count until they are `settled`."""
        taken: list[Entry] = []
        total = 0
        while self._admitted.entries and len(taken) < count:
            total += self._admitted.entries[0].size
            if taken and total > size:
                break
            taken.append(self._admitted.pop())
        self._on_its_way += len(taken)
        self._bytes_on_their_way += sum(entry.size for entry in taken)
        return taken

    def settled(self, entry: Entry) -> None:
        """It was taken, and is done with."""
        self._on_its_way -= 1
        self._bytes_on_their_way -= entry.size
        self._admit()

    def expire(self, now: float = inf) -> list[Entry]:
        """Take out what is not on its way and whose deadline has come. Deadlines come in the order of arrival."""
        expired: list[Entry] = []
        for queue in (self._admitted, self._waiting):
            while queue.entries and queue.entries[0].deadline <= now:
                expired.append(queue.pop())
        self._admit()
        return expired

    def _admit(self) -> None:
        waiting = self._waiting
        while waiting.entries and self._room_for(waiting.entries[0].size):
            self._admitted.push(waiting.pop())

    def _room_for(self, size: int) -> bool:
        return self._admitted.fits(size, self._on_its_way, self._bytes_on_their_way)
