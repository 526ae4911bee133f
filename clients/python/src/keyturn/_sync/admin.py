"""The calls for people, for threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from keyturn import aio, views
from keyturn._sync.loop_thread import LoopThread

_TIMEOUT: Final = 10.0


class Admin:
    """AdminService: answers are the plain objects of `keyturn.views`. All take `timeout`, seconds."""

    def __init__(self, thread: LoopThread, client: aio.Client) -> None:
        self._thread = thread
        self._aio = client

    def list_queues(
        self,
        *,
        name_contains: str = "",
        page_size: int = 0,
        page_token: str = "",
        timeout: float = _TIMEOUT,
    ) -> views.QueuePage:
        """Tell of the queues, by name: policies and counts. `page_size` 0: as many as fit into one answer."""
        return self._thread.call(
            lambda: self._aio.admin.list_queues(
                name_contains=name_contains, page_size=page_size, page_token=page_token, timeout=timeout
            )
        )

    def retry_now(
        self,
        queue: str,
        *,
        key: str = "",
        item_id: str = "",
        timeout: float = _TIMEOUT,
    ) -> views.RetriedNow:
        """End what only time keeps back, of a key or of an item: a back-off, a delay, a `min_interval`."""
        return self._thread.call(lambda: self._aio.admin.retry_now(queue, key=key, item_id=item_id, timeout=timeout))

    def list_keys(
        self,
        queue: str,
        *,
        state: str | None = None,
        page_size: int = 100,
        page_token: str = "",
        timeout: float = _TIMEOUT,
    ) -> views.KeyPage:
        """List keys that are in one state (`PROCESS`, …), longest in it first; None: any but INIT."""
        return self._thread.call(
            lambda: self._aio.admin.list_keys(
                queue, state=state, page_size=page_size, page_token=page_token, timeout=timeout
            )
        )

    def explain_key(self, queue: str, key: str, *, timeout: float = _TIMEOUT) -> views.KeyExplanation:
        """Say in which state a key is, who holds it, who waits, and why it does not move."""
        return self._thread.call(lambda: self._aio.admin.explain_key(queue, key, timeout=timeout))

    def evict_holder(self, queue: str, key: str, *, timeout: float = _TIMEOUT) -> views.Eviction:
        """End the live turn of a key; its items go back without counting an attempt."""
        return self._thread.call(lambda: self._aio.admin.evict_holder(queue, key, timeout=timeout))

    def resume_key(self, queue: str, key: str, *, timeout: float = _TIMEOUT) -> views.Resumed:
        """Let a parked key go on."""
        return self._thread.call(lambda: self._aio.admin.resume_key(queue, key, timeout=timeout))

    def pause_queue(self, queue: str, *, timeout: float = _TIMEOUT) -> None:
        """Stop a queue from giving turns; turns that live go on."""
        return self._thread.call(lambda: self._aio.admin.pause_queue(queue, timeout=timeout))

    def resume_queue(self, queue: str, *, timeout: float = _TIMEOUT) -> None:
        """Let a paused queue go on."""
        return self._thread.call(lambda: self._aio.admin.resume_queue(queue, timeout=timeout))

    def set_limits(
        self,
        queue: str,
        *,
        rate: views.Rate | None = None,
        max_in_flight: int | None = None,
        timeout: float = _TIMEOUT,
    ) -> views.Limits:
        """Change limits of a queue while it runs; what is None stays, 0 takes a limit away."""
        return self._thread.call(
            lambda: self._aio.admin.set_limits(queue, rate=rate, max_in_flight=max_in_flight, timeout=timeout)
        )

    def list_dead_letters(
        self,
        queue: str,
        *,
        key: str | None = None,
        page_size: int = 100,
        page_token: str = "",
        timeout: float = _TIMEOUT,
    ) -> views.DeadLetterPage:
        """List dead letters in the order of their submission."""
        return self._thread.call(
            lambda: self._aio.admin.list_dead_letters(
                queue, key=key, page_size=page_size, page_token=page_token, timeout=timeout
            )
        )

    def redrive(
        self,
        queue: str,
        *,
        key: str | None = None,
        item_ids: Sequence[str] = (),
        timeout: float = _TIMEOUT,
    ) -> int:
        """Put dead letters back before what waits, attempts from 1. No ids: all."""
        return self._thread.call(lambda: self._aio.admin.redrive(queue, key=key, item_ids=item_ids, timeout=timeout))

    def discard(
        self,
        queue: str,
        *,
        key: str | None = None,
        item_ids: Sequence[str] = (),
        waiting: bool = False,
        timeout: float = _TIMEOUT,
    ) -> int:
        """Remove dead letters, and with `waiting` also items that wait. No ids: all."""
        return self._thread.call(
            lambda: self._aio.admin.discard(queue, key=key, item_ids=item_ids, waiting=waiting, timeout=timeout)
        )
