"""What an application may count."""

from __future__ import annotations

from typing import Protocol

from keyturn.errors import TurnLoss


class Metrics(Protocol):
    """Told of what happens, by the thread of the client: count and return, never wait, never raise."""

    def call_done(self, method: str, code: str, seconds: float) -> None:
        """A call was answered (`OK`), refused or given up; `code` is the name of the gRPC status."""

    def turn_granted(self, queue: str) -> None:
        """A turn was given to this client."""

    def turn_lost(self, queue: str, cause: TurnLoss) -> None:
        """A turn was lost."""

    def reconnected(self) -> None:
        """A stream stands again after one that broke."""
