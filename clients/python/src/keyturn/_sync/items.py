"""Submitting items, and their results, for threads."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterable

from keyturn._sync.calls import Calls
from keyturn.words import (
    Durability,
    NewItem,
    SubmitResult,
)


class Items(Calls):
    """Part of `Client`."""

    def submit(
        self,
        queue: str,
        item: NewItem,
        *,
        wait_for_room: float = 0.0,
        durability: Durability | None = None,
        timeout: float | None = None,
    ) -> SubmitResult:
        """Hand one item over. It gets an id if it has none, the same on every try: a lost answer makes no second item.

        `wait_for_room`: how long to wait for room in a full queue, seconds, up to 300. `durability`: what has happened when it is
        accepted; None: as the queue has it. `timeout`: how long to go on trying (10 s and `wait_for_room`).
        """
        return self._thread.call(
            lambda: self._aio.submit(queue, item, wait_for_room=wait_for_room, durability=durability, timeout=timeout)
        )

    def submit_many(
        self,
        queue: str,
        items: Iterable[NewItem],
        *,
        wait_for_room: float = 0.0,
        durability: Durability | None = None,
        timeout: float | None = None,
    ) -> list[SubmitResult]:
        """Hand items over in order, in as many messages as it takes, each accepted as a whole or not at all.

        Returns one result per item. Raises SubmitManyError when a message fails. `timeout` is for each message.
        """
        return self._thread.call(
            lambda: self._aio.submit_many(queue, items, wait_for_room=wait_for_room, durability=durability, timeout=timeout)
        )

    def result(self, queue: str, item_id: str, *, timeout: float = 300.0) -> bytes | None:
        """The result of an item, whoever submitted it and wherever it is worked on; None: its Ack had none.

        Known for the queue's `result_ttl` after its end. Raises ItemFailedError when no result can come, and KeyturnError with
        DEADLINE_EXCEEDED when `timeout` (seconds, `math.inf` for ever) is over first.
        """
        return self._thread.call(lambda: self._aio.result(queue, item_id, timeout=timeout))

    def result_future(self, queue: str, item_id: str, *, timeout: float = 300.0) -> concurrent.futures.Future[bytes | None]:
        """The same as a future, which may be cancelled."""
        return self.begin(lambda: self._aio.result(queue, item_id, timeout=timeout))
