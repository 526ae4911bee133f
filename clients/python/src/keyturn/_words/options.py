"""Settings of a client, checked before anything is done."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from keyturn._words.checks import count_within, number_within, word_within
from keyturn._words.limits import DAY, MIB
from keyturn._words.metrics import Metrics, SafeMetrics
from keyturn._words.tracing import Tracing
from keyturn.errors import WrongArgumentError

DEFAULT_ADDRESS: Final = "127.0.0.1:7420"


@dataclass(frozen=True)
class Tls:
    """Files in PEM, read when the client connects. `Tls()` trusts what gRPC trusts by default."""

    ca: str | Path | None = None
    """Who signed the sidecar's certificate. None: the roots that gRPC brings along."""
    cert: str | Path | None = None
    """With `key`: the certificate that the client shows (mutual TLS)."""
    key: str | Path | None = None
    server_name: str | None = None
    """The name in the sidecar's certificate, when it is not that of the address."""


@dataclass(frozen=True)
class TokenFile:
    """A file that has the token. Who replaces the file replaces the token.

    Streams look at it whenever they begin, calls once a second. While it cannot be read the last good token counts.
    """

    path: str | Path


def default_consumer_id() -> str:
    """Who asks, where nobody says.

    The sidecar would take the address of the connection, which is another one after a reconnect: a ticket of dispatch,
    sent again, would not be known as its owner's.
    """
    return f"{socket.gethostname()[:64]}/{os.getpid()}"


@dataclass(frozen=True)
class Options:
    """Settings of a client. Without a `consumer_id` it gets one."""

    transport: Literal["session", "unary"]
    consumer_id: str
    session_id: str
    session_ttl: float
    margin: float | None
    open_commands: int
    open_bytes: int
    tls: Tls | None
    metrics: Metrics | None
    tracing: bool | Tracing | None = None
    # A secret.
    token: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        word_within("transport", self.transport, ("session", "unary"))
        for name, text in (("consumer_id", self.consumer_id), ("session_id", self.session_id)):
            if not isinstance(text, str) or len(text.encode(errors="replace")) > 256:
                raise WrongArgumentError(f"{name} is {text!r}; allowed is a text of up to 256 bytes", name)
        number_within("session_ttl", self.session_ttl, 0.1, DAY)
        if self.margin is not None:
            number_within("margin", self.margin, 0, DAY)
        count_within("open_commands", self.open_commands, 1, 100_000)
        count_within("open_bytes", self.open_bytes, 4 * MIB, 1 << 53)
        if self.metrics is not None:
            object.__setattr__(self, "metrics", SafeMetrics(self.metrics))
        if self.tracing is not None and not isinstance(self.tracing, (bool, Tracing)):
            raise WrongArgumentError(f"tracing is {self.tracing!r}; allowed are True, False or a Tracing", "tracing")
        if self.tls is not None and not isinstance(self.tls, Tls):
            raise WrongArgumentError(f"tls is {self.tls!r}; needed is a Tls", "tls")
        if self.tls is not None and (self.tls.cert is None) != (self.tls.key is None):
            missing = "key" if self.tls.key is None else "cert"
            raise WrongArgumentError(f"tls.{missing} is None; cert and key go together", f"tls.{missing}")
        if not self.consumer_id:
            object.__setattr__(self, "consumer_id", default_consumer_id())


def address_of(address: str | None) -> str:
    """`host:port` or `unix:/path`; None: KEYTURN_ADDRESS, else 127.0.0.1:7420."""
    chosen = address if address is not None else os.environ.get("KEYTURN_ADDRESS") or DEFAULT_ADDRESS
    if not isinstance(chosen, str):
        raise WrongArgumentError(f"address is {chosen!r}; needed is host:port or unix:/path", "address")
    if chosen.startswith("unix:"):
        if len(chosen) > len("unix:"):
            return chosen
    elif "://" not in chosen:
        host, _, port = chosen.rpartition(":")
        if host and port.isascii() and port.isdigit() and 0 < int(port) < 65_536:
            return chosen
    raise WrongArgumentError(f"address is {chosen!r}; needed is host:port or unix:/path", "address")


# Names that lead to this machine, whatever a name server says.
_LOOPBACK: Final = re.compile(r"(localhost|127(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\]):\d+", re.IGNORECASE)


def refuse_clear_token(address: str, tls: Tls | None, token: object, insecure: bool) -> None:
    """The sidecar would refuse it, too, but only when everybody on the way has read it."""
    if not isinstance(insecure, bool):
        raise WrongArgumentError(f"insecure is {insecure!r}; allowed are True and False", "insecure")
    if token is None or tls is not None or insecure:
        return
    if address.startswith("unix:") or _LOOPBACK.fullmatch(address):
        return
    raise WrongArgumentError(f"token: it would be sent to {address} in clear text; use tls, or say insecure=True", "token")
