"""Records of a segment: a mark of four bytes, the length of the body, the CRC-32 of length and body, the body.

All numbers are little-endian. The mark lets the reader find out whether anything follows a place that it cannot read. The
first record of a segment says whose items follow; the body of an item is the message NewItem of the proto.
"""

from __future__ import annotations

import json
import struct
from typing import Final, NamedTuple
from zlib import crc32

from google.protobuf.message import DecodeError

from keyturn._gen import coordinator_pb2 as pb
from keyturn._words import requests
from keyturn._words.answers import seconds
from keyturn.errors import SpoolError
from keyturn.words import AfterUnknown, ItemRef, NewItem

_MARK: Final = b"KtP1"
_VERSION: Final = 1
_HEADER: Final = struct.Struct("<4sII")
_LENGTH: Final = struct.Struct("<I")


def encode(body: bytes) -> bytes:
    return _HEADER.pack(_MARK, len(body), _sum(body)) + body


def encode_item(item: NewItem) -> bytes:
    return encode(requests.new_item(item).SerializeToString(deterministic=True))


def encode_title(queue: str) -> bytes:
    return encode(json.dumps({"spool": _VERSION, "queue": queue}).encode())


def _sum(body: bytes) -> int:
    """Over the length too: a length that changed would hide what follows."""
    return crc32(body, crc32(_LENGTH.pack(len(body))))


def body_at(data: bytes, offset: int) -> bytes | None:
    """The body of the record that begins there; None: there is none."""
    if offset + _HEADER.size > len(data):
        return None
    mark, length, checksum = _HEADER.unpack_from(data, offset)
    start = offset + _HEADER.size
    if mark != _MARK or start + length > len(data):
        return None
    body = data[start : start + length]
    return body if _sum(body) == checksum else None


def size_of(body: bytes) -> int:
    return _HEADER.size + len(body)


def decode_item(path: str, body: bytes) -> NewItem:
    """The CRC says that it is what was written; this, that it was written by a version that we can read."""
    try:
        message = pb.NewItem.FromString(body)
    except DecodeError as error:
        raise SpoolError("damaged", path, f"a record is no item: {error}") from error
    unknown: AfterUnknown | None = "wait" if message.after_unknown == pb.AFTER_UNKNOWN_WAIT else None
    return NewItem(
        message.payload,
        message.key,
        dict(message.headers) or None,
        message.item_id,
        message.idempotency_key,
        seconds(message.delay) if message.HasField("delay") else None,
        tuple(ItemRef(one.queue, one.item_id) for one in message.after),
        unknown,
    )


class Scan(NamedTuple):
    """Where each item's record begins, and in the end where the last one ends; and how many bytes after it were cut off."""

    starts: list[int]
    torn: int


def scan(path: str, data: bytes, queue: str, is_last: bool) -> Scan:
    """Read through a segment; only the one that was written last can have been cut off.

    A record that is cut off at the end is what a process leaves behind that is killed; anything else that cannot be read is
    damage, and is never skipped.
    """
    title = body_at(data, 0)
    starts: list[int] = []
    offset = 0
    if title is not None:
        _check_title(path, title, queue)
        offset = size_of(title)
        starts.append(offset)
        while (body := body_at(data, offset)) is not None:
            offset += size_of(body)
            starts.append(offset)
    torn = len(data) - offset
    if torn > 0 and (not is_last or _has_record_after(data, offset + 1)):
        what = f"damaged at byte {offset} of {len(data)}; nothing of it was used. Move the file away, or mend it"
        raise SpoolError("damaged", path, what)
    return Scan(starts, torn)


def _has_record_after(data: bytes, offset: int) -> bool:
    at = data.find(_MARK, offset)
    while at >= 0:
        if body_at(data, at) is not None:
            return True
        at = data.find(_MARK, at + 1)
    return False


def _check_title(path: str, title: bytes, queue: str) -> None:
    try:
        told = json.loads(title)
        version, whose = told["spool"], told["queue"]
    except (ValueError, KeyError, TypeError) as error:
        raise SpoolError("damaged", path, "its first record is not that of a spool") from error
    if version != _VERSION:
        raise SpoolError("damaged", path, f"it is of version {version}; version {_VERSION} is known here")
    if whose != queue:
        what = f"it has items of queue {whose}, this producer is for {queue}; each needs a directory of its own"
        raise SpoolError("other_queue", path, what)
