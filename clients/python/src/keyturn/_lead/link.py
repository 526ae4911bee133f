"""The stream of all candidacies of a client, which breaks and comes back."""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import count
from typing import Final, Protocol

from keyturn._connection.backoff import BackOff
from keyturn._connection.channel import Connection
from keyturn._connection.waits import Background
from keyturn._gen import leader_pb2 as pb
from keyturn._session.stream import Stream
from keyturn.errors import KeyturnError

_PATH: Final = "/keyturn.v1.LeaderService/Lead"
# What the sidecar takes in one message, of commands; and of bytes with room to spare.
_COMMANDS: Final = 1_000
_BYTES: Final = 1 << 20
_LONGEST_RECONNECT: Final = 2.0
# How long the sidecar may take to end a stream on which nobody stands any more, seconds.
_FAREWELL: Final = 1.0


class Candidacy(Protocol):
    def opened(self) -> None:
        """There is a new stream: what the sidecar has to know."""

    def broke(self, error: KeyturnError) -> None:
        """Nothing that was said on the stream is answered any more."""

    def told(self, news: pb.LeadNews) -> None: ...


class LeadLink:
    """There is a stream as long as anybody stands."""

    def __init__(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        self._connection = connection
        self._loop = loop
        self._candidacies: dict[int, Candidacy] = {}
        self._numbers = count(1)
        self._commands: deque[pb.LeadCommand] = deque()
        self._stream: Stream[pb.LeadResponse] | None = None
        self._since = 0.0
        self._retry: asyncio.TimerHandle | None = None
        self._back_off = BackOff(_LONGEST_RECONNECT)
        # Of all streams that there were.
        self._tasks = Background(loop)

    def number(self) -> int:
        return next(self._numbers)

    def stand(self, number: int, candidacy: Candidacy) -> None:
        self._candidacies[number] = candidacy
        if self._stream is not None:
            candidacy.opened()
        elif self._retry is None:
            self._connect()

    def remove(self, number: int) -> None:
        """It is over. The stream ends with the last one."""
        self._candidacies.pop(number, None)
        if self._candidacies:
            return
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        stream, self._stream = self._stream, None
        if stream is not None:
            # What was said last still goes out.
            self._commands = deque()
            self._leave(stream)

    def say(self, number: int, command: pb.LeadCommand) -> bool:
        """False: there is no stream, and nothing is said."""
        if self._stream is None:
            return False
        command.candidacy = number
        self._commands.append(command)
        self._stream.wake()
        return True

    async def close(self) -> None:
        """Nothing is left when it returns."""
        for task in await self._tasks.ended(_FAREWELL * 2):
            task.cancel()
        await self._tasks.ended()

    def _connect(self) -> None:
        self._retry = None
        self._since = self._loop.time()
        commands: deque[pb.LeadCommand] = deque()
        self._commands = commands
        try:
            self._stream = Stream(
                self._connection,
                self._loop,
                lambda: _message(commands),
                self._take,
                self._ended,
                path=_PATH,
                read=pb.LeadResponse.FromString,
            )
        except KeyturnError:
            return  # The client is closed.
        for task in self._stream.tasks:
            self._tasks.keep(task)
        for candidacy in list(self._candidacies.values()):
            candidacy.opened()

    def _leave(self, stream: Stream[pb.LeadResponse]) -> None:
        stream.end()
        ending = self._loop.call_later(_FAREWELL, stream.destroy)
        stream.tasks[1].add_done_callback(lambda _: ending.cancel())

    def _take(self, stream: Stream[pb.LeadResponse], message: pb.LeadResponse) -> None:
        if stream is not self._stream:
            return
        self._connection.stands()
        self._back_off.reset()
        for news in message.news:
            candidacy = self._candidacies.get(news.candidacy)
            if candidacy is not None:
                candidacy.told(news)

    def _ended(self, stream: Stream[pb.LeadResponse], error: KeyturnError | None) -> None:
        if stream is not self._stream:
            return
        self._stream = None
        self._commands = deque()
        if self._loop.time() - self._since >= _LONGEST_RECONNECT:
            self._back_off.reset()
        told = error or KeyturnError("the sidecar ended the stream", "UNAVAILABLE")
        for candidacy in list(self._candidacies.values()):
            candidacy.broke(told)
        if self._candidacies:
            self._retry = self._loop.call_later(self._back_off.next(), self._connect)


def _message(commands: deque[pb.LeadCommand]) -> bytes | None:
    if not commands:
        return None
    some: list[pb.LeadCommand] = []
    size = 0
    while commands and len(some) < _COMMANDS:
        size += commands[0].ByteSize()
        if some and size > _BYTES:
            break
        some.append(commands.popleft())
    return pb.LeadRequest(commands=some).SerializeToString()
