"""What can be said of an item before it is sent.

The sidecar names each item that it refuses; but what cannot even be written into a message would take the whole batch
down, and nobody could say which item it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from keyturn._gen import coordinator_pb2 as pb
from keyturn._words import requests
from keyturn._words.ids import Ids
from keyturn._words.item_limits import over_limits
from keyturn.errors import ErrorDetails, FieldViolation, KeyturnError, WrongArgumentError
from keyturn.words import NewItem

# A message may have 4 MiB; tags and lengths of the call come on top of its items.
LARGEST_MESSAGE: Final = 3_500_000


def with_id(item: NewItem, ids: Ids) -> NewItem:
    """An empty id is none: the sidecar would make one, another for each try.

    With headers and prerequisites of its own: it is written later, and again, and the caller may change his meanwhile.
    """
    if not isinstance(item, NewItem):
        raise WrongArgumentError(f"{item!r} is no NewItem", "items")
    item_id = item.item_id or ids.new()
    if not item.headers and not item.after:
        return item if item.item_id else item._replace(item_id=item_id)
    return item._replace(item_id=item_id, headers=_own(item.headers, dict), after=_own(item.after, tuple))


def _own(value: Any, kind: Callable[[Any], Any]) -> Any:
    """A copy; what cannot be copied is refused when it is looked at."""
    try:
        return kind(value) if value else value
    except (TypeError, ValueError):
        return value


def checked_size(item: NewItem, index: int, with_limits: bool = False) -> int:
    """The bytes that it takes in a message.

    Raises what the sidecar would (INVALID_ARGUMENT, naming each wrong field); `index`: where the item stands; `with_limits`:
    also where only the sidecar would see it.
    """
    wrong = _wrong_fields(item)
    if not wrong and with_limits:
        wrong = over_limits(item)
    if not wrong:
        size = requests.new_item(item).ByteSize() + 8
        if size <= LARGEST_MESSAGE:
            return size
        wrong = [("", f"takes {size} bytes, allowed are {LARGEST_MESSAGE} with everything")]
    violations = tuple(FieldViolation(f"items[{index}]{field}", what) for field, what in wrong)
    told = "; ".join(f"{field}: {what}" for field, what in violations)
    raise KeyturnError(told, "INVALID_ARGUMENT", "BAD_REQUEST", ErrorDetails(violations=violations))


def _wrong_fields(item: NewItem) -> list[tuple[str, str]]:
    """The types say the same; programs that are not checked have none."""
    wrong: list[tuple[str, str]] = []
    texts = (("key", item.key), ("item_id", item.item_id), ("idempotency_key", item.idempotency_key))
    wrong += [(f".{name}", f"{text!r} is no text in Unicode") for name, text in texts if not _is_text(text)]
    if not isinstance(item.payload, bytes):
        wrong.append((".payload", f"is of type {type(item.payload).__name__}, allowed is bytes"))
    headers: object = item.headers
    if headers is not None and not (
        isinstance(headers, Mapping) and all(_is_text(name) and _is_text(headers[name]) for name in headers)
    ):
        wrong.append((".headers", "is no mapping of texts"))
    delay: object = item.delay
    if delay is not None and not (isinstance(delay, (int, float)) and 0 <= delay < float("inf")):
        wrong.append((".delay", f"{delay!r} is no number of seconds"))
    after: object = item.after
    if not (isinstance(after, Sequence) and all(_is_ref(ref) for ref in after)):
        wrong.append((".after", "is no sequence of ItemRef"))
    if item.after_unknown not in (None, "refuse", "wait"):
        wrong.append((".after_unknown", f"{item.after_unknown!r} is not refuse or wait"))
    return wrong


def _is_text(text: object) -> bool:
    if not isinstance(text, str):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_ref(ref: object) -> bool:
    return isinstance(ref, tuple) and len(ref) == len(pb.ItemRef.DESCRIPTOR.fields) and all(map(_is_text, ref))
