"""The client for asyncio.

A client belongs to the event loop in which it was made, and is used from there; it is not thread-safe. Everything that
waits can be cancelled as usual.
"""

from __future__ import annotations

from keyturn._aio.client import Client
from keyturn._aio.connect import connect
from keyturn._aio.consumer import Consumer, Work
from keyturn._aio.held_turn import HeldTurn
from keyturn._aio.leadership import LeaderCareer, Leadership, Term
from keyturn._aio.producer import Producer
from keyturn._aio.scoped_turn import ScopedTurn
from keyturn._connection.call import Call

__all__ = [
    "Call",
    "Client",
    "Consumer",
    "HeldTurn",
    "LeaderCareer",
    "Leadership",
    "Producer",
    "ScopedTurn",
    "Term",
    "Work",
    "connect",
]
