"""The stream that a session has, one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from keyturn._connection.channel import Connection
from keyturn._connection.waits import Background, comes
from keyturn._gen import coordinator_pb2 as pb
from keyturn._session.stream import Stream
from keyturn.errors import KeyturnError

_PATH: Final = "/keyturn.v1.CoordinatorService/Session"


class Link:
    """What comes on a stream that was dropped reaches nobody."""

    def __init__(
        self,
        connection: Connection,
        fetch: Callable[[], bytes | None],
        on_message: Callable[[pb.SessionResponse], None],
        on_end: Callable[[KeyturnError], None],
    ) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._fetch = fetch
        self._on_message = on_message
        self._on_end = on_end
        self._stream: Stream[pb.SessionResponse] | None = None
        # Of all streams that there were.
        self._tasks = Background(self._loop)
        self._ended: asyncio.Event | None = None
        self.since = 0.0
        """When the stream began, by the clock."""

    @property
    def is_open(self) -> bool:
        return self._stream is not None

    def open(self, now: float) -> None:
        self.since = now
        self._stream = Stream(
            self._connection,
            self._loop,
            self._fetch,
            self._take,
            self._has_ended,
            path=_PATH,
            read=pb.SessionResponse.FromString,
        )
        for task in self._stream.tasks:
            self._tasks.keep(task)

    def wake(self) -> None:
        """There is something to fetch."""
        if self._stream is not None:
            self._stream.wake()

    def stands(self) -> None:
        """The sidecar has answered on it."""
        self._connection.stands()

    def no_answer_yet(self) -> str:
        """Why there is no stream, while nothing else is known."""
        return self._connection.no_answer_yet()

    def drop(self) -> None:
        """It is of no use any more."""
        if self._stream is not None:
            self._stream.destroy()
        self._stream = None

    def begin_to_end(self) -> None:
        """Nothing more will be sent."""
        if self._stream is not None:
            self._ended = asyncio.Event()
            self._stream.end()

    async def close(self, timeout: float) -> bool:
        """Nothing is left when it returns. False: the sidecar did not end the stream in this time."""
        in_time = self._ended is None or await comes(self._ended, timeout)
        self.drop()
        for task in await self._tasks.ended(timeout):
            task.cancel()
        return in_time

    def _take(self, stream: Stream[pb.SessionResponse], message: pb.SessionResponse) -> None:
        if stream is self._stream:
            self._on_message(message)

    def _has_ended(self, stream: Stream[pb.SessionResponse], error: KeyturnError | None) -> None:
        if self._ended is not None:
            self._ended.set()
        if stream is self._stream:
            self._on_end(error or KeyturnError("the sidecar ended the stream", "UNAVAILABLE"))
