"""What an application may count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from keyturn._words.log import log
from keyturn.errors import TurnLoss, WrongArgumentError


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


_METHODS: Final = ("call_done", "turn_granted", "turn_lost", "reconnected")


class SafeMetrics:
    """Metrics of an application that may raise after all: it is logged once, and does not break what they tell of."""

    def __init__(self, metrics: Metrics) -> None:
        for name in _METHODS:
            if not callable(getattr(metrics, name, None)):
                raise WrongArgumentError(f"metrics is {metrics!r}, which has no method {name}", "metrics")
        self._metrics = metrics
        self._has_raised = False

    def call_done(self, method: str, code: str, seconds: float) -> None:
        self._tell(lambda: self._metrics.call_done(method, code, seconds))

    def turn_granted(self, queue: str) -> None:
        self._tell(lambda: self._metrics.turn_granted(queue))

    def turn_lost(self, queue: str, cause: TurnLoss) -> None:
        self._tell(lambda: self._metrics.turn_lost(queue, cause))

    def reconnected(self) -> None:
        self._tell(self._metrics.reconnected)

    def _tell(self, tell: Callable[[], None]) -> None:
        try:
            tell()
        except BaseException:
            if not self._has_raised:
                self._has_raised = True
                log.exception("metrics raised; told this once")
