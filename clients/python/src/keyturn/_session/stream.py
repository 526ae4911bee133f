"""A stream on grpc.aio: that of a session, and that of leaders."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import grpc

from keyturn._connection.channel import Connection
from keyturn._words.status import rpc_error, status_error
from keyturn.errors import KeyturnError

M = TypeVar("M")


class Stream(Generic[M]):
    """Reads and writes until it ends, and then says so once; after `destroy` it says nothing.

    Messages to be written are fetched when there is room for them: what is asked while one is on its way travels
    together in the next.
    """

    def __init__(
        self,
        connection: Connection,
        loop: asyncio.AbstractEventLoop,
        fetch: Callable[[], bytes | None],
        on_message: Callable[[Stream[M], M], None],
        on_end: Callable[[Stream[M], KeyturnError | None], None],
        path: str,
        read: Callable[[bytes], M],
    ) -> None:
        self._method: Any = connection.channel.stream_stream(path)
        # Without a token there is nothing to wait for.
        self._call: Any = None if connection.has_token else self._method()
        self._begun = asyncio.Event()
        self._is_opening = connection.has_token
        self._connection = connection
        self._loop = loop
        self._fetch = fetch
        self._on_message = on_message
        self._on_end = on_end
        self._parse = read
        self._is_gone = False
        self._is_ending = False
        self._waker: asyncio.Future[None] | None = None
        self.tasks = (loop.create_task(self._write()), loop.create_task(self._read()))

    def wake(self) -> None:
        """There is something to fetch."""
        waker = self._waker
        if waker is not None and not waker.done():
            waker.set_result(None)

    def end(self) -> None:
        """Nothing more will be sent. The other side answers what it has and ends the stream."""
        self._is_ending = True
        self.wake()

    def destroy(self) -> None:
        """Gone at once. The reader ends by itself when gRPC has let go of the call."""
        self._is_gone = True
        if self._is_opening:
            self.tasks[1].cancel()
        elif self._call is not None:
            self._call.cancel()
        self.tasks[0].cancel()

    async def _open(self) -> KeyturnError | None:
        """None: it is open."""
        try:
            proof = await self._connection.proof(anew=True)
        except KeyturnError as error:
            return error
        except asyncio.CancelledError:
            return KeyturnError("the stream was cancelled", "CANCELLED")
        finally:
            self._is_opening = False
        self._call = self._method(metadata=proof)
        self._begun.set()
        return None

    async def _write(self) -> None:
        if self._is_opening:
            await self._begun.wait()
        try:
            while True:
                message = self._fetch()
                if message is not None:
                    await self._call.write(message)
                elif self._is_ending:
                    await self._call.done_writing()
                    return
                else:
                    self._waker = self._loop.create_future()
                    await self._waker
                    self._waker = None
        except (grpc.RpcError, asyncio.InvalidStateError):
            return  # The reader learns the same, with the reason.

    async def _read(self) -> None:
        error = await self._open() if self._is_opening else None
        if error is None:
            error = await self._read_all()
        if error is not None and not self._is_gone:
            error = await self._explained(error)
        is_told = not self._is_gone
        self._is_gone = True
        self.tasks[0].cancel()
        # Nothing of gRPC is kept by what still refers to this stream: its threads end with its last object.
        self._call = None
        if is_told:
            self._on_end(self, error)

    async def _explained(self, error: KeyturnError) -> KeyturnError:
        try:
            return await self._connection.explained(error)
        except asyncio.CancelledError:
            return error  # It ends all the same.

    async def _read_all(self) -> KeyturnError | None:
        try:
            while True:
                message = await self._call.read()
                if message is grpc.aio.EOF:
                    break
                if self._is_gone:
                    return None
                self._on_message(self, self._parse(message))
            code = await self._call.code()
            if code is grpc.StatusCode.OK:
                return None
            return status_error(code, await self._call.details())
        except grpc.aio.AioRpcError as error:
            return rpc_error(error)
        except asyncio.CancelledError:
            if self._is_gone:
                await self._call.code()
            return KeyturnError("the stream was cancelled", "CANCELLED")
        except Exception as error:  # A message that cannot be read leaves the stream of no use.
            return KeyturnError(f"the stream cannot be read: {error!r}", "INTERNAL")
