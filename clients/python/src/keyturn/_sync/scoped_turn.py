"""A turn as a scope of a thread: `with client.turn(...) as turn`."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from types import TracebackType

from keyturn._consume.claim import Granted
from keyturn._consume.holding import Holding, told_loss
from keyturn._consume.scope import Scope
from keyturn._consume.turn_options import TurnOptions
from keyturn._session.base import Base
from keyturn._sync.loop_thread import LoopThread
from keyturn._sync.stopping import Stoppable
from keyturn.errors import KeyturnError, NotGranted


class ScopedTurn(Stoppable, Scope):
    """The turn of a key, held while the block runs.

    Entering waits for the turn and raises `Declined` or `Blocked` when there is none. Nobody can interrupt a thread: when the
    turn is lost, or held for `max_hold`, `stopping` is set, in time, and `check()` raises. A block that ends after its turn was
    lost raises `TurnLostError`. A block that raises gives the turn back as not done.
    """

    stopping: threading.Event
    """Set, in time, when the work must stop: wait on it instead of sleeping."""
    # Said here too, so that the documentation has them where they are looked for.
    lost = Stoppable.lost
    loss = Stoppable.loss
    check = Stoppable.check
    on_stop = Stoppable.on_stop

    queue = Scope.queue
    key = Scope.key
    token = Scope.token

    def __init__(self, owner: object, thread: LoopThread, base: Base, options: TurnOptions) -> None:
        Stoppable.__init__(self)
        Scope.__init__(self, base, options)
        # A client ends with the last reference to it: not while this one is used.
        self._owner = owner
        self._thread = thread
        self._is_entered = False
        self._is_left = False
        self._owner_thread = 0
        # Both are of the loop's thread.
        self._is_cancelled = False
        self._entering: asyncio.Task[object] | None = None

    def __enter__(self) -> ScopedTurn:
        if self._is_entered:
            raise RuntimeError("a turn is entered once; ask for another one")
        self._is_entered = True
        self._owner_thread = threading.get_ident()
        with self._trace.entering(self._span(), self._owner_thread):
            self._wait()
        return self

    def _wait(self) -> None:
        try:
            self._thread.call(self._enter)
        except (NotGranted, KeyturnError):
            raise
        except BaseException:
            # Interrupted by a signal: whether the turn comes at this moment only the other thread knows.
            self._leave()
            raise

    def cancel(self) -> None:
        """End the wait of the thread that enters, from another one: that one raises KeyturnError (CANCELLED) and stands in no line.

        Once the turn was given it does nothing; before the wait it ends that one when it begins.
        """
        with suppress(KeyturnError):  # Of a closed client nobody waits.
            self._thread.soon(self._cancel)

    def _cancel(self) -> None:
        self._is_cancelled = True
        if self._entering is not None:
            self._entering.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._trace.leaving(error, threading.get_ident()):
            if self._thread.is_stopped:
                self._closed(error)
            else:
                self._thread.call(lambda: self._exit(error))

    def _closed(self, error: BaseException | None) -> None:
        """The client was closed inside the block, and with it the turn was lost."""
        loss = self._held.loss
        if loss is not None and error is not loss and (error is None or isinstance(error, Exception)):
            raise told_loss(loss, error) from error

    def _leave(self) -> None:
        """Nobody will leave a block that was never entered."""
        with suppress(KeyturnError):
            self._thread.begin(self._left)

    async def _left(self) -> None:
        self._is_left = True
        if self._holding is not None:
            await self._give_back(self._holding)

    @staticmethod
    async def _give_back(holding: Holding) -> None:
        holding.end()
        try:
            await holding.abandoned()
        finally:
            holding.release()

    async def _enter(self) -> None:
        holding = self._hold(await self._granted(), self._owner_thread)
        holding.listen(self._stop)
        if self._is_left:
            await self._give_back(holding)

    async def _granted(self) -> Granted:
        if self._is_cancelled:
            raise _cancelled()
        self._entering = asyncio.current_task()
        try:
            return await super()._granted()
        except asyncio.CancelledError:
            if self._is_cancelled:
                raise _cancelled() from None
            raise
        finally:
            self._entering = None

    async def _exit(self, error: BaseException | None) -> None:
        holding = self._held
        holding.end()
        try:
            await self._settle(error, isinstance(error, Exception))
        finally:
            holding.release()


def _cancelled() -> KeyturnError:
    return KeyturnError("the wait for the turn was cancelled", "CANCELLED")
