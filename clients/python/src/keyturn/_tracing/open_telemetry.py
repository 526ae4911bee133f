"""Spans by the conventions for messaging.

An attempt links to the span that submitted its item: its trace may be hours old, and a turn may have many items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanKind, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from keyturn._tracing.trace_parent import read_trace_parent, with_trace_parent
from keyturn._words.log import log
from keyturn._words.tracing import TraceOutcome, Tracing
from keyturn._words.version import VERSION
from keyturn.words import Delivery, Item, NewItem, Turn

A = TypeVar("A")
_Attributes = dict[str, AttributeValue]

_CONVENTIONS: Final[_Attributes] = {
    "messaging.system": "keyturn",
    "messaging.operation.type": "process",
    "messaging.operation.name": "process",
}


class Troubles:
    """What a provider raises does not break the work that it is told of. It is logged once."""

    def __init__(self) -> None:
        self._has_raised = False

    def quietly(self, tell: Callable[[], A]) -> A | None:
        try:
            return tell()
        except Exception:
            if not self._has_raised:
                self._has_raised = True
                log.exception("tracing raised; told this once")
            return None


class OpenTelemetry:
    """Of one client."""

    def __init__(self, options: Tracing) -> None:
        self._options = options
        self._found: trace.Tracer | None = None
        self._troubles = Troubles()

    def stamped(self, item: NewItem) -> NewItem:
        """With the context of the active span."""
        return self._troubles.quietly(lambda: _stamped(item)) or item

    def attempt(self, delivery: Delivery) -> Traced | None:
        """A span with links, or below the span that submitted the first item."""
        tracer = self._tracer()
        return None if tracer is None else self._troubles.quietly(lambda: self._attempt(tracer, delivery))

    def turn(self, queue: str, key: str) -> Traced | None:
        """A span below the caller's."""
        tracer = self._tracer()
        if tracer is None:
            return None
        attributes: _Attributes = {"keyturn.queue": queue, **self._key_of(key)}
        span = self._troubles.quietly(lambda: tracer.start_span(f"turn {queue}", attributes=attributes))
        return None if span is None else Traced(span, self._troubles)

    def _tracer(self) -> trace.Tracer | None:
        """Looked for until there is an SDK, which may come after the client. Without one that is all that happens."""
        if self._found is None:
            self._found = self._troubles.quietly(self._find)
        return self._found

    def _find(self) -> trace.Tracer | None:
        provider = self._options.provider or trace.get_tracer_provider()
        if isinstance(provider, (trace.ProxyTracerProvider, trace.NoOpTracerProvider)):
            return None
        return provider.get_tracer("keyturn", VERSION)

    def _attempt(self, tracer: trace.Tracer, delivery: Delivery) -> Traced:
        turn, items = delivery
        links = _links_of(items)
        # Not of whoever called consume: that span has ended long ago.
        parent = contexts.Context()
        if self._options.parent and links:
            parent = trace.set_span_in_context(NonRecordingSpan(links.pop(0).context), parent)
        attributes: _Attributes = {
            **_CONVENTIONS,
            "messaging.destination.name": turn.queue,
            **self._key_of(turn.key),
            **_of_items(items),
            "keyturn.attempt": turn.attempt,
            "keyturn.token": turn.token,
        }
        name = f"process {turn.queue}"
        span = tracer.start_span(name, context=parent, kind=SpanKind.CONSUMER, attributes=attributes, links=links)
        return Traced(span, self._troubles)

    def _key_of(self, key: str) -> _Attributes:
        return {"keyturn.key": key} if self._options.key else {}


def _stamped(item: NewItem) -> NewItem:
    context = trace.get_current_span().get_span_context()
    return with_trace_parent(item, context) if context.is_valid else item


def _links_of(items: Sequence[Item]) -> list[Link]:
    found = [(item.item_id, read_trace_parent(item.headers)) for item in items]
    return [Link(context, {"messaging.message.id": item_id}) for item_id, context in found if context is not None]


def _of_items(items: Sequence[Item]) -> _Attributes:
    return {"messaging.message.id": items[0].item_id} if len(items) == 1 else {"messaging.batch.message_count": len(items)}


class Traced:
    """One span."""

    def __init__(self, span: Span, troubles: Troubles) -> None:
        self._span = span
        self._troubles = troubles
        self._recorded: BaseException | None = None

    @contextmanager
    def active(self) -> Iterator[None]:
        """In this task or thread."""
        token = contexts.attach(trace.set_span_in_context(self._span))
        try:
            yield
        finally:
            contexts.detach(token)

    def waiting(self) -> None:
        """For the turn."""
        self._troubles.quietly(lambda: self._span.add_event("waiting"))

    def granted(self, turn: Turn) -> None:
        """The wait is over."""
        self._troubles.quietly(lambda: self._span.add_event("granted", {"keyturn.token": turn.token}))
        self._set("keyturn.token", turn.token)

    def lost(self, cause: str) -> None:
        """The turn was lost."""
        self._troubles.quietly(lambda: self._span.add_event("lost", {"keyturn.loss": cause}))

    def failed(self, error: BaseException) -> None:
        """Recorded once."""
        if self._recorded is error:
            return
        self._recorded = error
        self._troubles.quietly(lambda: self._span.record_exception(error))
        self._troubles.quietly(lambda: self._span.set_status(Status(StatusCode.ERROR, str(error) or type(error).__name__)))
        self._set("error.type", type(error).__qualname__)

    def outcome(self, outcome: TraceOutcome) -> None:
        """What became of it."""
        self._set("keyturn.outcome", outcome)

    def end(self) -> None:
        """Nothing counts after this."""
        self._troubles.quietly(self._span.end)

    def _set(self, name: str, value: AttributeValue) -> None:
        self._troubles.quietly(lambda: self._span.set_attribute(name, value))
