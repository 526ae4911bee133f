"""The calls of a worker over a session."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from keyturn._connection.call import Call, check_loop, unwritable
from keyturn._connection.channel import Connection
from keyturn._gen import coordinator_pb2 as pb
from keyturn._session.command import CallCommand
from keyturn._session.liveness import Liveness
from keyturn._session.open_commands import OpenLimits
from keyturn._session.session import Session
from keyturn._session.turns.confirmations import Confirmations
from keyturn._session.turns.held import Held
from keyturn._session.turns.renewals import Renewals
from keyturn._words.checks import timeout_of
from keyturn._words.ids import Ids
from keyturn._words.metrics import Metrics
from keyturn._words.requests import duration
from keyturn._words.worker_call import WorkerCall
from keyturn.errors import KeyturnError, TurnLoss
from keyturn.words import Turn

A = TypeVar("A")


class SessionTransport:
    """See `keyturn._session.transport.Transport`."""

    def __init__(
        self,
        connection: Connection,
        *,
        session_id: str,
        consumer_id: str,
        ttl: float,
        margin: float | None,
        limits: OpenLimits,
        metrics: Metrics | None,
    ) -> None:
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._ids = Ids()
        # Of turns with a lease of their own. What is tied lives as long as the session is known to.
        self._confirmations = Confirmations(self.ask, self.loop)
        renewals = Renewals(self.ask, self.loop, margin, self._lose)
        hello = pb.Hello(consumer_id=consumer_id, session_id=session_id, ttl=duration(ttl))
        self._session = Session(connection, hello, Liveness(ttl, margin), limits, renewals, metrics)

    def _lose(self, held: Held, cause: TurnLoss) -> None:
        self._session.turns.lose(held, cause)

    def ask(self, call: WorkerCall[A], timeout: float | None) -> Call[A]:
        """Nothing here waits, so that nothing is made besides the future of the answer."""
        check_loop(self.loop)
        future: Call[A] = Call(loop=self.loop)
        try:
            timeout_of("timeout", timeout)
            command = CallCommand(call.named(self._ids), future, self._confirmations.of)
        except (TypeError, ValueError, KeyError, AttributeError, KeyturnError) as error:
            future.reject(unwritable(error))
        else:
            self._session.ask(command, timeout)
        return future

    def hold(self, turn: Turn, asked_at: float) -> Held:
        return self._session.hold(turn, self._confirmations.since(turn, asked_at))

    def give_back(self, turn: Turn) -> None:
        self._session.give_back(turn)

    def call_off(self) -> None:
        # First: the session knows their turns as given.
        self._confirmations.close()
        self._session.call_off()

    async def settled(self, timeout: float) -> None:
        await self._session.settled(timeout)

    async def close(self) -> None:
        await self._session.close()
