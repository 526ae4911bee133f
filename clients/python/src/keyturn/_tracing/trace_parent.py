"""The headers of W3C Trace Context.

Always this form, whatever propagators an application has for its own calls: workers in other languages read it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from opentelemetry.trace import SpanContext, TraceFlags, TraceState

from keyturn.words import NewItem

_PARENT: Final = "traceparent"
_STATE: Final = "tracestate"
# What the contract lets an item have; an item is never refused for what tracing adds.
_MOST_HEADERS: Final = 64
_MOST_BYTES: Final = 8_192
# What a reader has to pass on, at least.
_LONGEST_STATE: Final = 512
_FORM: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


def with_trace_parent(item: NewItem, context: SpanContext) -> NewItem:
    """The item itself when it cannot or need not have them."""
    size = _size_of(item.headers)
    # What is wrong is refused by name where items are checked.
    if size is None:
        return item
    headers = dict(item.headers or {})
    if any(name.lower() == _PARENT for name in headers):
        return item
    headers[_PARENT] = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 0xFF:02x}"
    size += len(_PARENT) + len(headers[_PARENT])
    if len(headers) > _MOST_HEADERS or size > _MOST_BYTES:
        return item
    # One without its parent is of another trace.
    headers.pop(_STATE, None)
    state = context.trace_state.to_header()
    size += len(_STATE) + len(state)
    if state and len(state) <= _LONGEST_STATE and len(headers) < _MOST_HEADERS and size <= _MOST_BYTES:
        headers[_STATE] = state
    return item._replace(headers=headers)


def _size_of(headers: object) -> int | None:
    """Bytes of UTF-8; None: these are no headers."""
    if headers is None:
        return 0
    if not isinstance(headers, Mapping):
        return None
    try:
        return sum(len(name.encode()) + len(headers[name].encode()) for name in headers)
    except (AttributeError, UnicodeEncodeError):
        return None


def read_trace_parent(headers: Mapping[str, str] | None) -> SpanContext | None:
    """None when there is none, or none that is one."""
    found = _FORM.fullmatch((headers or {}).get(_PARENT, ""))
    if headers is None or found is None:
        return None
    version, trace_id, span_id, flags, rest = found.groups()
    # Later versions may add; of the first there is no more than this, and ff is none.
    if version == "ff" or (version == "00" and rest is not None):
        return None
    state = headers.get(_STATE)
    context = SpanContext(
        int(trace_id, 16),
        int(span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(int(flags, 16)),
        trace_state=None if state is None else TraceState.from_header([state]),
    )
    return context if context.is_valid else None
