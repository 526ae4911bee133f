"""Clients that are not closed when the program ends."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Final, Protocol


class Closable(Protocol):
    """A client."""

    def close(self, timeout: float | None = None) -> None: ...


# A program that ends without closing its client gives handlers this long, seconds.
_AT_EXIT: Final = 1.0

open_clients: Final[weakref.WeakSet[Closable]] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for client in list(open_clients):
        client.close(_AT_EXIT)


# What was open before a fork belongs to the parent.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=open_clients.clear)
