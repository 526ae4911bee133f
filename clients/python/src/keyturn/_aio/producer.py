"""A buffer in front of a queue."""

from __future__ import annotations

import asyncio
from types import TracebackType

from keyturn._produce.options import ProducerResult
from keyturn._produce.production import Production
from keyturn.words import (
    NewItem,
)


class Producer:
    """A buffer in front of a queue, made by `Client.producer`."""

    def __init__(self, core: Production) -> None:
        self._core = core

    @property
    def pending(self) -> int:
        """Items that are neither accepted, nor refused, nor on disk."""
        return self._core.pending

    def add(self, item: NewItem) -> asyncio.Future[ProducerResult]:
        """Take an item; the future tells what became of it.

        Raises ProducerFullError, ProducerClosedError, and KeyturnError for an item that cannot be sent. The future may have a
        KeyturnError (refused), ProducerTimeoutError, ProducerClosedError, or SpoolError.
        """
        return self._core.add(item)

    async def ready(self) -> None:
        """Wait until an item that is added now need not wait for room: back-pressure."""
        await self._core.ready()

    async def flush(self) -> None:
        """Wait until everything that was added before is accepted, refused, or on disk."""
        await self._core.flush()

    async def close(self, timeout: float | None = None) -> None:
        """Take nothing more, and flush. What is not handed over after `timeout` is refused with ProducerClosedError."""
        await self._core.close(timeout)

    async def __aenter__(self) -> Producer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
