"""The door to the client for threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from keyturn._sync.client import Client
from keyturn._words.limits import MIB
from keyturn._words.metrics import Metrics
from keyturn._words.options import Options, Tls, TokenFile, address_of, refuse_clear_token
from keyturn._words.tracing import Tracing


def connect(
    address: str | None = None,
    *,
    transport: Literal["session", "unary"] = "session",
    consumer_id: str = "",
    session_id: str = "",
    session_ttl: float = 10.0,
    margin: float | None = None,
    open_commands: int = 100_000,
    open_bytes: int = 256 * MIB,
    tls: Tls | None = None,
    token: str | TokenFile | Callable[[], str] | None = None,
    insecure: bool = False,
    metrics: Metrics | None = None,
    tracing: bool | Tracing | None = None,
) -> Client:
    """Make a client for threads. No connection is made before the first call.

    `address`: `host:port` or `unix:/path`; None: the environment's `KEYTURN_ADDRESS`, else `127.0.0.1:7420`.
    `transport`: `session`, every call on one stream, which keeps turns alive and reconnects; or `unary`, each call by itself.
    `consumer_id`: who asks, for people who look. `session_id`: who takes over the turns of a broken stream; of two clients
    with one id the newer wins. `session_ttl`: how long turns outlive a broken stream, seconds. `margin`: how long before a
    turn may have ended its holder is told to stop, seconds (a tenth of its life, at most 2). `open_commands`, `open_bytes`:
    what may wait for answers; one more call is refused (RESOURCE_EXHAUSTED). `token`: who asks, where the sidecar wants to
    know: the token itself, a `TokenFile`, or a callable that gives it; it is
    called for each call and stream, in the client's thread: be short there. `insecure`: the token may be sent to
    another machine in clear text. `tracing`: spans of OpenTelemetry; None: where its
    API is installed and an SDK is registered; True: it is an error if the API is not there; False: none; or a `Tracing`.

    One thread runs in the background until `close`. Connect after a fork, not before. Raises WrongArgumentError.
    """
    options = Options(
        transport=transport,
        consumer_id=consumer_id,
        session_id=session_id,
        session_ttl=session_ttl,
        margin=margin,
        open_commands=open_commands,
        open_bytes=open_bytes,
        tls=tls,
        token=token,
        metrics=metrics,
        tracing=tracing,
    )
    chosen = address_of(address)
    refuse_clear_token(chosen, tls, token, insecure)
    return Client(chosen, options)
