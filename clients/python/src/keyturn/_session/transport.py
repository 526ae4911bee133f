"""What every transport of the client does: a session stream (the normal one), or unary calls."""

from __future__ import annotations

import asyncio
from typing import Protocol, TypeVar

from keyturn._connection.call import Call
from keyturn._session.turns.held import Held
from keyturn._words.worker_call import WorkerCall
from keyturn.words import Turn

A = TypeVar("A")


class Transport(Protocol):
    """Carries the calls of a worker, each safe to be sent again, and keeps turns alive."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...

    def ask(self, call: WorkerCall[A], timeout: float | None) -> Call[A]:
        """Every failure is a KeyturnError.

        `timeout`: seconds until the call is given up (DEADLINE_EXCEEDED), answered or not, connected or not; None: its wait and
        ten seconds.
        """

    def hold(self, turn: Turn, asked_at: float) -> Held:
        """Keep a turn alive. `asked_at`: when the call was sent that gave it; its life is counted from there."""

    def give_back(self, turn: Turn) -> None:
        """The work under it has ended, after the client began to close: nobody else would end it."""

    def call_off(self) -> None:
        """Begin to close: refuse what is open and what is asked from now on (CANCELLED), tell those who hold turns."""

    async def settled(self, timeout: float) -> None:
        """Wait until what was called off has ended, and what it brought all the same was given back; for so many seconds."""

    async def close(self) -> None:
        """Call off what was not yet. Nothing is left when it returns."""
