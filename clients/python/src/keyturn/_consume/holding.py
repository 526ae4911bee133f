"""A turn while somebody works under it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from keyturn._session.base import Base, failure_of
from keyturn._session.retry import with_retries
from keyturn._words import calls
from keyturn._words.limits import GRACE
from keyturn.errors import HoldTimeoutError, KeyturnError, TurnLostError
from keyturn.words import Turn

A = TypeVar("A")


class Holding:
    """Keeps the turn alive, and tells once, in time, that the work must stop."""

    def __init__(self, base: Base, turn: Turn, asked_at: float, max_hold: float | None) -> None:
        self._base = base
        self.turn = turn
        self.reason: BaseException | None = None
        """Why the work must stop: TurnLostError, HoldTimeoutError or ConsumerStoppedError."""
        self._listener: Callable[[BaseException], None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_released = False
        self._held = base.transport.hold(turn, asked_at)
        self._held.watch(self.stop)
        if max_hold is not None:
            self._timer = base.loop.call_later(max_hold, self._too_long, max_hold)

    @property
    def loss(self) -> TurnLostError | None:
        return self._held.loss

    def listen(self, listener: Callable[[BaseException], None]) -> None:
        """Tell `listener` when the work must stop; at once if it must already."""
        self._listener = listener
        if self.reason is not None:
            listener(self.reason)

    def stop(self, reason: BaseException) -> None:
        """The first reason is told, and any loss."""
        if self.reason is not None and not isinstance(reason, TurnLostError):
            return
        self.reason = reason
        if self._listener is not None:
            self._listener(reason)

    def end(self) -> None:
        """The work is over: nobody is told anything any more."""
        self._listener = None
        if self._timer is not None:
            self._timer.cancel()

    def release(self) -> None:
        """The turn is settled, or cannot be.

        Not before: who reconnects meanwhile gives back what nobody holds, and the end of the work would be lost.
        """
        self.end()
        if self._is_released:
            return
        self._is_released = True
        if self.loss is not None and self.loss.cause == "closed":
            self._base.transport.give_back(self.turn)
        self._held.release()
        self._base.left(self)

    def _too_long(self, max_hold: float) -> None:
        self.stop(HoldTimeoutError(f"the turn was held for max_hold, {max_hold:g} s"))

    async def done(self, result: bytes) -> None:
        """Give the turn back as done; raises TurnLostError when it was lost."""
        try:
            await self._dequeue(False, result, GRACE)
        except KeyturnError as error:
            # Refused as it is (a result that is too large), the turn is ours still, and nobody else would end it.
            if failure_of(error) == "refused":
                await self.abandoned()
            raise

    async def abandoned(self, patience: float = GRACE) -> None:
        """Give the turn back as not done. If that fails, it ends with its lease or its session."""
        try:
            await self._dequeue(True, b"", patience)
        except KeyturnError:
            return

    async def _dequeue(self, abandoned: bool, result: bytes, patience: float) -> None:
        queue, key, token = self.turn[:3]
        call = calls.Dequeue(queue, key, token, None, abandoned, result)
        try:
            await with_retries(
                self._base,
                self._base.now() + patience,
                ("away", "full"),
                lambda left: self._base.transport.ask(call, left),
            )
        except KeyturnError as error:
            if failure_of(error) != "lost" or isinstance(error, TurnLostError):
                raise
            raise TurnLostError(str(error), "unknown") from error


@dataclass(frozen=True)
class Ending(Generic[A]):
    """What came of some work. `lost` goes before everything else: what it returned does not count."""

    kind: Literal["done", "failed", "lost"]
    value: A | None = None
    error: BaseException | None = None


async def run_under(holding: Holding, work: Callable[[], Awaitable[A]]) -> Ending[A]:
    """Returns when the work has ended, however that was; raises nothing but what ends the whole process."""
    try:
        # Lost before it began (a long wait, a slow process): nothing is started just to be stopped.
        if holding.loss is not None:
            return Ending("lost", error=holding.loss)
        value = await work()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # Whatever else it is, it is about this work alone.
        if holding.loss is not None:
            return Ending("lost", error=told_loss(holding.loss, error))
        return Ending("failed", error=error)
    finally:
        holding.end()
    if holding.loss is not None:
        return Ending("lost", error=holding.loss)
    return Ending("done", value)


def told_loss(loss: TurnLostError, error: BaseException | None) -> TurnLostError:
    """With what the work ended with, unless it only handed the loss on."""
    if error is None or error is loss or isinstance(error, (asyncio.CancelledError, TurnLostError)):
        return loss
    told = TurnLostError(f"{loss}; the work ended with: {error!r}", loss.cause, loss.details)
    told.__cause__ = error
    return told
