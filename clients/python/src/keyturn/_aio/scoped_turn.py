"""A turn as a scope of asyncio: `async with client.turn(...) as turn`."""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType

from keyturn._consume.scope import Scope
from keyturn._consume.turn_options import TurnOptions
from keyturn._session.base import Base
from keyturn._words.limits import GIVING_UP, GRACE


class ScopedTurn(Scope):
    """The turn of a key, held while the block runs.

    Entering waits for the turn and raises `Declined` or `Blocked` when there is none. When the turn is lost the task is
    cancelled inside the block, in time, and `TurnLostError` is raised from it; after `max_hold` in the same way
    `HoldTimeoutError`. A block that raises gives the turn back as not done.
    """

    # Said here too, so that the documentation has them where they are looked for.
    queue = Scope.queue
    key = Scope.key
    token = Scope.token

    def __init__(self, base: Base, options: TurnOptions) -> None:
        super().__init__(base, options)
        self._task: asyncio.Task[object] | None = None
        self._is_inside = False
        self._interrupts = 0
        self._cancelled_before = 0

    @property
    def lost(self) -> bool:
        """The turn is, or must be taken for, somebody else's."""
        return self._held.loss is not None

    def check(self) -> None:
        """Raise TurnLostError or HoldTimeoutError if the work must stop."""
        if self._held.reason is not None:
            raise self._held.reason

    async def __aenter__(self) -> ScopedTurn:
        if self._task is not None:
            raise RuntimeError("a turn is entered once; ask for another one")
        self._task = asyncio.current_task()
        with self._trace.entering(self._span(), self._task):
            granted = await self._granted()
            if sys.version_info >= (3, 11) and self._task is not None:
                self._cancelled_before = self._task.cancelling()
            holding = self._hold(granted, self._task)
        self._is_inside = True
        holding.listen(self._interrupt)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._trace.leaving(error, asyncio.current_task()):
            await self._leave(error)

    async def _leave(self, error: BaseException | None) -> None:
        self._is_inside = False
        holding = self._held
        is_ours = await self._take_back_interrupt(error)
        holding.end()
        try:
            is_failure = is_ours or isinstance(error, Exception)
            await self._settle(error, is_failure, GRACE if is_failure else GIVING_UP)
            if is_ours and holding.reason is not None:
                raise holding.reason from error
        finally:
            holding.release()

    def _interrupt(self, _: BaseException) -> None:
        if self._is_inside and self._task is not None:
            self._interrupts += 1
            self._task.cancel()

    async def _take_back_interrupt(self, error: BaseException | None) -> bool:
        """Whether the block ended by our cancellation, and by nobody else's."""
        if self._interrupts == 0 or self._task is None:
            return False
        # From 3.11 on a task counts how often it was cancelled: before this block too.
        others = 0
        if sys.version_info >= (3, 11):
            for _ in range(self._interrupts):
                others = self._task.uncancel() - self._cancelled_before
        if isinstance(error, asyncio.CancelledError):
            return others == 0
        try:
            # The block ended before the cancellation came: it must not hit what follows.
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if others > 0:
                raise
        return False
