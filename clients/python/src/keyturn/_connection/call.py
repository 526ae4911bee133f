"""A call of the application as a future that can be called off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from keyturn.errors import KeyturnError, WrongArgumentError

A = TypeVar("A")


class Call(asyncio.Future[A]):
    """What a raw call returns: await it for the answer.

    To cancel it, or the task that awaits it, ends the call: a caller that waits without a ticket leaves its line, one
    with a ticket keeps its place for the queue's `ticket_ttl`. A turn that comes all the same is given back.
    """

    on_cancel: Callable[[bool], None] | None = None
    leaves = False
    """To cancel it is to leave: nobody will ask with its ticket again."""
    on_unread: Callable[[], None] | None = None
    """Gives back what the answer gave: nobody learnt of it."""

    def __await__(self) -> Generator[Any, None, A]:
        if not self.done():
            self._asyncio_future_blocking = True
            try:
                yield self
            except BaseException:
                # The answer may have come at this very moment.
                self.drop()
                raise
        return self.result()

    def cancel(self, msg: Any = None) -> bool:
        """End the call; the place of its ticket is kept."""
        return self._call_off(self.leaves, msg)

    def leave(self) -> bool:
        """End the call, and give up the place of its ticket too."""
        return self._call_off(True, None)

    def _call_off(self, leave: bool, msg: Any) -> bool:
        if not super().cancel(msg):
            return False
        if self.on_cancel is not None:
            self.on_cancel(leave)
        return True

    def drop(self) -> None:
        """Nobody gets the answer, should it have come."""
        if self.done() and not self.cancelled() and self.exception() is None:
            self.unread()

    def resolve(self, answer: A) -> None:
        """Unless nobody waits any more."""
        if not self.done():
            self.set_result(answer)
        else:
            self.unread()

    def unread(self) -> None:
        """Nobody learns of the answer that came."""
        give_back, self.on_unread = self.on_unread, None
        if give_back is not None:
            give_back()

    def reject(self, error: BaseException) -> None:
        """Unless nobody waits any more."""
        if not self.done():
            self.set_exception(error)


def check_loop(loop: asyncio.AbstractEventLoop) -> None:
    """In another thread or loop a call would wait for ever: nobody would wake the loop that has the connection."""
    if asyncio.get_running_loop() is not loop:
        raise RuntimeError("a client of keyturn.aio belongs to the event loop in which it was made")


def client_closed() -> KeyturnError:
    """Of what is asked of a client that was closed, or is open when it is."""
    return KeyturnError("the client was closed", "CANCELLED")


def unwritable(error: Exception) -> KeyturnError:
    """A token that is no number, a key that is no text: what the sidecar could not even be told."""
    if isinstance(error, KeyturnError):
        return error
    return WrongArgumentError(f"the call cannot be written: {error}")
