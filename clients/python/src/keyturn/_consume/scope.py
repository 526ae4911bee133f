"""A turn as a scope: from its claim to its end."""

from __future__ import annotations

from keyturn._consume.claim import Claim, Granted
from keyturn._consume.holding import Holding, told_loss
from keyturn._consume.turn_options import TurnOptions
from keyturn._consume.turn_trace import TurnTrace
from keyturn._session.base import Base
from keyturn._words.limits import GRACE
from keyturn._words.tracing import TraceSpan


class Scope:
    """Part of both `ScopedTurn`. Entered and left on the loop."""

    def __init__(self, base: Base, options: TurnOptions) -> None:
        self._base = base
        self._options = options
        self._holding: Holding | None = None
        self._trace = TurnTrace()
        self.result = b""
        """What is remembered with the idempotency key, up to 1 MiB; set it in the block."""

    @property
    def queue(self) -> str:
        return self._options.plan.queue

    @property
    def key(self) -> str:
        return self._options.plan.key

    @property
    def token(self) -> int:
        """Grows with every turn of the queue: let what you write to refuse a smaller one than it has seen."""
        return self._held.turn.token

    @property
    def _held(self) -> Holding:
        if self._holding is None:
            raise RuntimeError("the turn is not entered")
        return self._holding

    def _span(self) -> TraceSpan | None:
        """Begins in the task or thread of the caller, whose span it stands below."""
        tracer = self._base.tracer
        return None if tracer is None else tracer.turn(self.queue, self.key)

    async def _granted(self) -> Granted:
        return await Claim(self._base, self._options.plan).wait()

    def _hold(self, granted: Granted, owner: object) -> Holding:
        """`owner`: the task or thread that works under the turn."""
        holding = Holding(self._base, granted.turn, granted.asked_at, self._options.max_hold)
        self._holding = holding
        self._base.entered(holding, owner)
        self._trace.granted(granted.turn)
        return holding

    async def _settle(self, error: BaseException | None, is_failure: bool, patience: float = GRACE) -> None:
        """What the block ended with decides. `is_failure`: an error of the work, not one that is to end the thread or task."""
        holding = self._held
        loss = holding.loss
        if loss is not None:
            if error is not loss and (error is None or is_failure):
                raise told_loss(loss, error) from error
        elif error is None:
            await holding.done(self.result)
        else:
            await holding.abandoned(patience)
