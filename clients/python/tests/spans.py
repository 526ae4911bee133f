"""What the tests of tracing share: an SDK that keeps what it is told, and what is asked of a span."""

from __future__ import annotations

import json
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, TraceFlags, TraceState

from keyturn import Tracing
from tests.sidecar import ROOT

CASES = json.loads((ROOT / "clients/conformance/tracing.json").read_text())


class Listening:
    """An SDK that keeps what it is told."""

    def __init__(self) -> None:
        self.provider = TracerProvider(shutdown_on_exit=False)
        self._exporter = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("test")

    def tracing(self, **options: Any) -> Tracing:
        return Tracing(provider=self.provider, **options)

    def named(self, name: str) -> list[ReadableSpan]:
        """In the order of their beginning."""
        found = [span for span in self._exporter.get_finished_spans() if span.name == name]
        return sorted(found, key=lambda span: span.start_time or 0)


def context_of(case: dict[str, Any]) -> SpanContext:
    ids = CASES["span"]
    state = TraceState.from_header([case["state"]]) if case["state"] else None
    return SpanContext(int(ids["traceId"], 16), int(ids["spanId"], 16), True, TraceFlags(case["flags"]), state)


def headers_of(case: dict[str, Any]) -> dict[str, str]:
    padding = case.get("padding", {})
    headers = dict(case["headers"])
    headers.update({f"h{at}": "" for at in range(padding.get("headers", 0))})
    if "bytes" in padding:
        headers["long"] = "x" * (padding["bytes"] - 4)
    return headers


def written(context: SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def attributes_of(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def errors_of(span: ReadableSpan) -> list[object]:
    return [(event.attributes or {})["exception.message"] for event in span.events if event.name == "exception"]


def events_of(span: ReadableSpan) -> list[str]:
    return [event.name for event in span.events]
