"""Unary calls as futures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from typing import Any, Final, TypeVar

import grpc
from google.protobuf.message import Message

from keyturn._connection.call import Call, check_loop, client_closed, unwritable
from keyturn._connection.channel import Connection
from keyturn._connection.token import Metadata
from keyturn._words.checks import number_within
from keyturn._words.limits import DAY, GRACE
from keyturn._words.metrics import Metrics
from keyturn._words.status import rpc_error
from keyturn.errors import KeyturnError

A = TypeVar("A")
M = TypeVar("M", bound=Message)

# A longer deadline is no deadline, seconds.
_LONGEST: Final = DAY * 365


class Unary:
    """Unary calls as futures, each with its deadline; known, so that closing ends all of them."""

    def __init__(self, connection: Connection, metrics: Metrics | None) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._metrics = metrics
        self._tasks: dict[asyncio.Task[None], Call[Any]] = {}
        self._is_closed = False

    def ask(
        self,
        path: str,
        make: Callable[[], Message],
        answer: type[M],
        read: Callable[[M], A],
        timeout: float | None,
        wait: float | None = None,
        after: Callable[[A, float, Call[A]], None] | None = None,
        give_back: Callable[[A], None] | None = None,
    ) -> Call[A]:
        """`after`: what has to be done before the answer is handed on; `give_back`: what to do when it reached nobody.

        Without a `timeout`: `wait` and ten seconds.
        """
        check_loop(self._loop)
        future: Call[A] = Call(loop=self._loop)
        if self._is_closed:
            future.reject(client_closed())
            return future
        try:
            message = make().SerializeToString()
            limit = (wait or 0) + GRACE if timeout is None else number_within("timeout", timeout, 0, inf)
        except (TypeError, ValueError, KeyError, AttributeError, KeyturnError) as error:
            future.reject(unwritable(error))
            return future
        task = self._loop.create_task(self._run(path, message, answer, read, limit, after, give_back, future))
        self._tasks[task] = future
        task.add_done_callback(self._tasks.pop)
        future.on_cancel = lambda _: self._cancel(task, future)
        return future

    @staticmethod
    def _cancel(task: asyncio.Task[None], future: Call[Any]) -> None:
        if not task.cancel():
            # Its answer is there; it waits until its turns are confirmed.
            future.unread()

    def call_off(self) -> None:
        """Refuse what is open. Whoever stands in a line with a ticket that nobody uses again leaves it."""
        for future in list(self._tasks.values()):
            future.reject(client_closed())
            if future.on_cancel is not None:
                future.on_cancel(future.leaves)

    async def _run(
        self,
        path: str,
        message: bytes,
        answer: type[M],
        read: Callable[[M], A],
        timeout: float,
        after: Callable[[A, float, Call[A]], None] | None,
        give_back: Callable[[A], None] | None,
        future: Call[A],
    ) -> None:
        asked_at = self._loop.time()
        code = "OK"
        try:
            method: Any = self._connection.channel.unary_unary(f"/keyturn.v1.{path}")
            limit = None if timeout == inf else min(timeout, _LONGEST)
            proof: Metadata = ()
            if self._connection.has_token:
                proof = await self._proof(limit)
                # What it took is gone.
                limit = None if limit is None else max(0.0, asked_at + limit - self._loop.time())
            result = read(answer.FromString(await method(message, timeout=limit, metadata=proof)))
            self._connection.stands()
            if give_back is not None:
                future.on_unread = lambda: give_back(result)
            if after is None:
                future.resolve(result)
            else:
                after(result, asked_at, future)
        except grpc.aio.AioRpcError as error:
            left = None if timeout == inf else max(0.0, asked_at + timeout - self._loop.time())
            refused = await self._connection.explained(rpc_error(error), left)
            if refused.code == "DEADLINE_EXCEEDED":
                refused = self._connection.overdue(refused)
            code = refused.code
            future.reject(refused)
        except KeyturnError as error:
            code = error.code
            future.reject(error)
        except asyncio.CancelledError:
            code = "CANCELLED"
            future.reject(client_closed())
        except Exception as error:  # Whatever it is: somebody waits for the answer.
            code = "INTERNAL"
            future.reject(KeyturnError(f"the answer cannot be read: {error!r}", code))
        finally:
            if self._metrics is not None:
                name = path.rpartition("/")[2].lower()
                self._metrics.call_done(name, code, self._loop.time() - asked_at)

    async def _proof(self, limit: float | None) -> Metadata:
        try:
            return await asyncio.wait_for(self._connection.proof(anew=False), limit)
        except asyncio.TimeoutError:
            raise KeyturnError("no token before the call's time-out", "DEADLINE_EXCEEDED") from None

    async def close(self) -> None:
        self._is_closed = True
        # A task that is cancelled before it began tells nobody.
        self.call_off()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))
