"""The span of a turn as a scope, from the wait for it to its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from keyturn._words.tracing import TraceSpan
from keyturn.errors import Blocked, NotGranted, TurnLostError
from keyturn.words import Turn


class TurnTrace:
    """Without a span, which is when nobody listens, it does nothing."""

    def __init__(self) -> None:
        self._span: TraceSpan | None = None
        self._active: tuple[AbstractContextManager[None], object] | None = None

    @contextmanager
    def entering(self, span: TraceSpan | None, owner: object) -> Iterator[None]:
        """The wait. After it the span is the active one of its `owner`, the task or thread that entered."""
        self._span = span
        if span is None:
            yield
            return
        span.waiting()
        try:
            yield
        except BaseException as error:
            self._end(span, error)
            raise
        active = span.active()
        active.__enter__()
        self._active = (active, owner)

    def granted(self, turn: Turn) -> None:
        """The turn came."""
        if self._span is not None:
            self._span.granted(turn)

    @contextmanager
    def leaving(self, error: BaseException | None, owner: object) -> Iterator[None]:
        """The end; `error`: what the block ended with."""
        span = self._span
        if span is None:
            yield
            return
        # In another task or thread another context is active, which is not ours to change.
        if self._active is not None and self._active[1] == owner:
            self._active[0].__exit__(None, None, None)
        try:
            yield
        except BaseException as raised:
            self._end(span, raised)
            raise
        self._end(span, error)

    @staticmethod
    def _end(span: TraceSpan, error: BaseException | None) -> None:
        if error is None:
            span.outcome("done")
        elif isinstance(error, NotGranted):
            span.outcome("blocked" if isinstance(error, Blocked) else "declined")
        else:
            if isinstance(error, TurnLostError):
                span.lost(error.cause)
            span.failed(error)
            span.outcome("lost" if isinstance(error, TurnLostError) else "failed")
        span.end()
