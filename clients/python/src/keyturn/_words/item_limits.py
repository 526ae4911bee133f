"""The limits of the contract: what is over one no sidecar ever accepts, because settings only lower them.

An item that goes to disk first is told "spooled" long before a sidecar looks at it.
"""

from __future__ import annotations

import re
from typing import Final

from keyturn._words.limits import DAY, MIB
from keyturn.words import NewItem

_QUEUE: Final = re.compile(r"[A-Za-z0-9._:/-]{1,128}")
_KEY: Final = 1_024
_ID: Final = 256
_PAYLOAD: Final = MIB
_HEADERS: Final = 64
_HEADER_BYTES: Final = 8_192
_AFTER: Final = 100
_DELAY: Final = 30 * DAY


def queue_problem(name: str) -> str | None:
    """What is wrong with the name of a queue."""
    return None if _QUEUE.fullmatch(name) else f"{_short(name)}; allowed are 1 to 128 characters of A-Z a-z 0-9 . _ : / -"


def over_limits(item: NewItem) -> list[tuple[str, str]]:
    """Each field that is over its limit, of an item whose types are right."""
    wrong: list[tuple[str, str]] = []
    for name, text, most in (
        ("key", item.key, _KEY),
        ("item_id", item.item_id, _ID),
        ("idempotency_key", item.idempotency_key, _ID),
    ):
        size = len(text.encode())
        if size > most:
            wrong.append((f".{name}", f"takes {size} bytes of UTF-8, allowed are up to {most}"))
    if len(item.payload) > _PAYLOAD:
        wrong.append((".payload", f"takes {len(item.payload)} bytes, allowed are up to {_PAYLOAD}"))
    wrong += _wrong_headers(item)
    if item.delay is not None and item.delay > _DELAY:
        wrong.append((".delay", f"is {item.delay:g} s, allowed are up to {_DELAY:g}"))
    return wrong + _wrong_after(item)


def _wrong_headers(item: NewItem) -> list[tuple[str, str]]:
    headers = item.headers or {}
    if len(headers) > _HEADERS:
        return [(".headers", f"are {len(headers)}, allowed are up to {_HEADERS}")]
    size = sum(len(name.encode()) + len(value.encode()) for name, value in headers.items())
    return [(".headers", f"take {size} bytes, allowed are up to {_HEADER_BYTES} together")] if size > _HEADER_BYTES else []


def _wrong_after(item: NewItem) -> list[tuple[str, str]]:
    if len(item.after) > _AFTER:
        return [(".after", f"has {len(item.after)} items, allowed are up to {_AFTER}")]
    wrong: list[tuple[str, str]] = []
    for at, (queue, item_id) in enumerate(item.after):
        problem = queue_problem(queue)
        if problem is not None:
            wrong.append((f".after[{at}].queue", f"is {problem}"))
        if not 1 <= len(item_id.encode()) <= _ID:
            wrong.append((f".after[{at}].item_id", f"takes {len(item_id.encode())} bytes, allowed are 1 to {_ID}"))
    if len(set(item.after)) < len(item.after):
        wrong.append((".after", "names an item twice, allowed is once"))
    return wrong


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}…")
