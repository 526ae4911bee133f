"""Tracing: what an application says of it, and what the client tells whoever traces."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from keyturn.errors import WrongArgumentError
from keyturn.words import Delivery, NewItem, Turn

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider


@dataclass(frozen=True)
class Tracing:
    """How spans of OpenTelemetry are made. It needs `opentelemetry-api`: the extra `tracing` of the package."""

    parent: bool = False
    """An attempt is a child of the span that submitted its item. Else it begins a trace, and links to that span."""
    key: bool = False
    """The key is an attribute of spans, `keyturn.key`. Keys may name people."""
    provider: TracerProvider | None = None
    """Who makes the spans. None: the provider that is registered for the process."""

    def __post_init__(self) -> None:
        for name in ("parent", "key"):
            value: object = getattr(self, name)
            if not isinstance(value, bool):
                raise WrongArgumentError(f"tracing.{name} is {value!r}; allowed is True or False", f"tracing.{name}")
        if self.provider is not None and not callable(getattr(self.provider, "get_tracer", None)):
            what = f"tracing.provider is {self.provider!r}; needed is a TracerProvider of opentelemetry"
            raise WrongArgumentError(what, "tracing.provider")


TraceOutcome = Literal[
    "ack", "retry", "release", "dead_letter", "lost", "unsettled", "done", "declined", "blocked", "failed"
]
"""Words of `keyturn.outcome`."""


class TraceSpan(Protocol):
    """A span that was begun. None of it raises."""

    def active(self) -> AbstractContextManager[None]:
        """The span is the one that is active, in this task or thread."""

    def waiting(self) -> None: ...

    def granted(self, turn: Turn) -> None: ...

    def lost(self, cause: str) -> None: ...

    def failed(self, error: BaseException) -> None:
        """The same error twice is recorded once."""

    def outcome(self, outcome: TraceOutcome) -> None:
        """The last one counts."""

    def end(self) -> None: ...


class Tracer(Protocol):
    """Whoever traces. None of it raises."""

    def stamped(self, item: NewItem) -> NewItem:
        """With the context that is active in its headers; the item itself when none is, or its caller gave one."""

    def attempt(self, delivery: Delivery) -> TraceSpan | None:
        """Begin the span of an attempt. None: nobody listens."""

    def turn(self, queue: str, key: str) -> TraceSpan | None:
        """Begin the span of a scope of a turn. None: nobody listens."""
