"""Messages of AdminService as the plain objects of `keyturn.views`, field by field: they have the same names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from google.protobuf.message import Message

from keyturn._words import answers
from keyturn.words import Item

T = TypeVar("T")

_DURATION: Final = "google.protobuf.Duration"
_TIMESTAMP: Final = "google.protobuf.Timestamp"

Reader = Callable[[Message], Any]


def plain(kind: type[T], message: Message) -> T:
    """`kind`: a NamedTuple whose fields are fields of the message."""
    made: Any = kind
    shape: Any = type(message)
    return kind(*(read(message) for read in _readers(made, shape)))


@cache
def _readers(kind: Any, message: Any) -> tuple[Reader, ...]:
    hints = get_type_hints(kind)
    return tuple(_reader(name, hints[name], message.DESCRIPTOR.fields_by_name[name]) for name in kind._fields)


def _reader(name: str, hint: Any, field: Any) -> Reader:
    kinds = [one for one in get_args(hint) or (hint,) if one is not NoneType]
    may_miss = NoneType in get_args(hint)
    if get_origin(hint) is Mapping:
        words = field.message_type.fields_by_name["state"].enum_type
        return lambda one: {_word(words, count.state): count.count for count in getattr(one, name)}
    if get_origin(hint) is Sequence:
        return lambda one: tuple(_value(kinds[0], part) for part in getattr(one, name))
    if field.message_type is not None:
        read = _message_reader(field.message_type.full_name, kinds[0])
        return lambda one: read(getattr(one, name)) if not may_miss or one.HasField(name) else None
    if field.enum_type is not None:
        return lambda one: _word(field.enum_type, getattr(one, name))
    return (lambda one: getattr(one, name) or None) if may_miss else (lambda one: getattr(one, name))


def _message_reader(name: str, kind: Any) -> Callable[[Any], Any]:
    if name == _DURATION:
        return answers.seconds
    if name == _TIMESTAMP:
        return lambda one: answers.instant(one.ToNanoseconds())
    return answers.item if kind is Item else lambda one: plain(kind, one)


def _value(kind: Any, part: Any) -> Any:
    return plain(kind, part) if isinstance(part, Message) else part


def _word(words: Any, number: int) -> str:
    """Without what all words of the enum begin with. One that this client does not know is told as its number."""
    prefix = words.values[0].name.removesuffix("UNSPECIFIED")
    value = words.values_by_number.get(number)
    return str(number) if value is None else value.name.removeprefix(prefix)
