"""Why a session has no stream."""

from __future__ import annotations

from typing import Final

from keyturn._connection.failure import TlsError
from keyturn._gen import coordinator_pb2 as pb
from keyturn._words.status import command_error
from keyturn.errors import KeyturnError

# Who is refused for one of these would be refused for ever.
_FOR_GOOD: Final = frozenset(
    {"UNIMPLEMENTED", "UNAUTHENTICATED", "PERMISSION_DENIED", "INVALID_ARGUMENT", "FAILED_PRECONDITION"}
)


def is_for_good(error: KeyturnError) -> bool:
    return error.code in _FOR_GOOD or isinstance(error, TlsError)


def silent() -> KeyturnError:
    return KeyturnError("the sidecar does not answer", "UNAVAILABLE")


def too_late(why: str) -> KeyturnError:
    """`why` there is no connection; empty: there is one."""
    told = "no answer before the call's time-out"
    return KeyturnError(f"{told}: {why}" if why else told, "DEADLINE_EXCEEDED")


def no_hello(reply: pb.Reply) -> KeyturnError:
    """The reply to a hello is none."""
    if reply.WhichOneof("outcome") == "error":
        return command_error(reply.error)
    return KeyturnError("the sidecar does not answer hello", "UNIMPLEMENTED")
