"""Errors of the sidecar and of the transport as KeyturnErrors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2 as details_pb
from google.rpc.status_pb2 import Status

from keyturn._words.answers import CAUSES, seconds
from keyturn.errors import (
    ErrorDetails,
    FieldViolation,
    KeyturnError,
    PermissionDeniedError,
    TurnLostError,
    UnauthenticatedError,
)
from keyturn.words import LossCause

_DETAILS_KEY: Final = "grpc-status-details-bin"
_NAMES: Final = {code.value[0]: code.name for code in grpc.StatusCode}
_KINDS: Final[dict[str, type[KeyturnError]]] = {
    "UNAUTHENTICATED": UnauthenticatedError,
    "PERMISSION_DENIED": PermissionDeniedError,
}
_CAUSE_BY_NAME: Final[dict[str, LossCause]] = {cause.upper(): cause for cause in CAUSES.values()}


def rpc_error(error: grpc.aio.AioRpcError) -> KeyturnError:
    """The error of a unary call, or the end of a stream."""
    code: Any = error.code()
    parts: Iterable[AnyMessage] = ()
    for name, value in error.trailing_metadata() or ():
        if name == _DETAILS_KEY and isinstance(value, bytes):
            # The code and the message stand by themselves; a proxy may have put anything here.
            with suppress(DecodeError):
                parts = Status.FromString(value).details
    return _keyturn_error(code.value[0], error.details() or code.name, parts)


def status_error(code: grpc.StatusCode, message: str | None) -> KeyturnError:
    """The end of a stream of which nothing more is known."""
    return _keyturn_error(code.value[0], message or code.name, ())


def command_error(status: Status) -> KeyturnError:
    """The error of one command of a session."""
    return _keyturn_error(status.code, status.message, status.details)


def _keyturn_error(code: int, message: str, parts: Iterable[AnyMessage]) -> KeyturnError:
    found: dict[str, Any] = {"reason": ""}
    for part in parts:
        read = _READERS.get(part.type_url)
        if read is None:
            continue
        try:
            read(part.value, found)
        except DecodeError:
            continue
    reason = str(found.pop("reason"))
    details = ErrorDetails(**found)
    if reason == "TURN_LOST":
        cause = _CAUSE_BY_NAME.get(details.metadata.get("cause", ""), "unknown")
        return TurnLostError(message, cause, details)
    name = _NAMES.get(code, "UNKNOWN")
    if reason == "NO_CREDENTIALS":
        # The sidecar knows what it wants, and not how this client is told of it.
        message += " (token of connect: one that the sidecar knows, a TokenFile, or a callable that gives one)"
    return _KINDS.get(name, KeyturnError)(message, name, reason, details)


def _info(value: bytes, found: dict[str, Any]) -> None:
    info = details_pb.ErrorInfo.FromString(value)
    found["reason"] = info.reason
    found["metadata"] = dict(info.metadata)


def _bad_request(value: bytes, found: dict[str, Any]) -> None:
    wrong = details_pb.BadRequest.FromString(value).field_violations
    found["violations"] = tuple(FieldViolation(one.field, one.description) for one in wrong)


def _quota(value: bytes, found: dict[str, Any]) -> None:
    full = details_pb.QuotaFailure.FromString(value).violations
    found["quota"] = tuple((one.subject, one.description) for one in full)


def _retry(value: bytes, found: dict[str, Any]) -> None:
    found["retry_after"] = seconds(details_pb.RetryInfo.FromString(value).retry_delay)


def _resource(value: bytes, found: dict[str, Any]) -> None:
    found["resource"] = details_pb.ResourceInfo.FromString(value).resource_name


_PREFIX: Final = "type.googleapis.com/google.rpc."
_READERS: Final[dict[str, Callable[[bytes, dict[str, Any]], None]]] = {
    f"{_PREFIX}ErrorInfo": _info,
    f"{_PREFIX}BadRequest": _bad_request,
    f"{_PREFIX}QuotaFailure": _quota,
    f"{_PREFIX}RetryInfo": _retry,
    f"{_PREFIX}ResourceInfo": _resource,
}
