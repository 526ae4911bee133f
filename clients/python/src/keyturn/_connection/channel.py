"""The connection to a sidecar."""

from __future__ import annotations

import gc
import os
import ssl
import weakref
from pathlib import Path
from typing import Final

import grpc

from keyturn._connection.call import client_closed
from keyturn._connection.failure import MaybeTlsError, Security, TlsError, explained, speaks_tls
from keyturn._connection.tls_probe import TlsProbe
from keyturn._connection.token import Bearer, Metadata, TokenSource
from keyturn._words.limits import MIB
from keyturn._words.options import Tls
from keyturn._words.version import VERSION
from keyturn.errors import KeyturnError, WrongArgumentError

# The sidecar is a neighbour: neither a proxy from the environment nor a service config from DNS may come between.
_OPTIONS: Final[list[tuple[str, int | str]]] = [
    ("grpc.enable_http_proxy", 0),
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.enable_retries", 0),
    # Closing one client must not end the connection of another to the same address, nor should the two share one.
    ("grpc.use_local_subchannel_pool", 1),
    # The session has a back-off of its own above it, so that this one is short.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # A sidecar that vanished without a word is noticed after the two together.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Answers stop growing at 3 MiB; what a session gathers in one message may be more than one of them.
    ("grpc.max_receive_message_length", 64 * MIB),
    ("grpc.primary_user_agent", f"keyturn-python/{VERSION}"),
]


class _Fork:
    """What gRPC runs in the background is not in a fork, and is not begun there again: every call would wait for ever."""

    is_broken = False

    def happened(self) -> None:
        """In the child."""
        self.is_broken = self.is_broken or len(_connections) > 0

    def check(self) -> None:
        """Raise where gRPC does not work."""
        if self.is_broken:
            what = "this process was forked while a client was open, and gRPC does not work in it"
            raise RuntimeError(f"{what}: fork before the first client is made, or after all are closed, or spawn")


fork: Final = _Fork()
_connections: Final[weakref.WeakSet[Connection]] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=fork.happened)


class Connection:
    """The one place that has the channel: what gRPC runs in the background ends with the last reference to it."""

    def __init__(self, address: str, tls: Tls | None, token: TokenSource | None) -> None:
        fork.check()
        self._bearer = None if token is None else Bearer(token)
        self._channel: grpc.aio.Channel | None = _open(address, tls)
        self._security: Security = "plain" if tls is None else "tls" if tls.cert is None else "mutual_tls"
        host = "localhost" if address.startswith("unix:") else address.rpartition(":")[0]
        self._name = host if tls is None or tls.server_name is None else tls.server_name
        self._address = address
        self._has_stood = False
        self._probe = TlsProbe(address)
        _connections.add(self)

    @property
    def channel(self) -> grpc.aio.Channel:
        """Raises KeyturnError when the client is closed."""
        if self._channel is None:
            raise client_closed()
        return self._channel

    async def proof(self, anew: bool) -> Metadata:
        """What says who asks. `anew`: for what goes on for long.

        Raises UnauthenticatedError.
        """
        return () if self._bearer is None else await self._bearer.metadata(anew)

    @property
    def has_token(self) -> bool:
        return self._bearer is not None

    def stands(self) -> None:
        """The sidecar has answered."""
        self._has_stood = True

    async def explained(self, error: KeyturnError, limit: float | None = None) -> KeyturnError:
        """Why there is no connection, with the address. It takes a second at most, and no longer than `limit` seconds.

        TlsError only if there never was one: else certificates may just be about to be replaced.
        """
        found = explained(error, self._security, self._name)
        if found is None:
            return error
        if isinstance(found, MaybeTlsError) and not self._has_stood:
            await self._probe.ask(limit)
            if self._probe.is_answered:
                found = speaks_tls(self._probe.is_certain)
        told = f"cannot reach {self._address}: {found}"
        if isinstance(found, TlsError) and not self._has_stood:
            return found.told(told)
        return KeyturnError(told, found.code)

    def overdue(self, error: KeyturnError) -> KeyturnError:
        """Of a call whose time was over while there was no connection."""
        if self._channel is None or self._channel.get_state() is grpc.ChannelConnectivity.READY:
            return error
        return KeyturnError(f"{error}: {self.no_answer_yet()}", error.code)

    def no_answer_yet(self) -> str:
        """Why there is no connection, while nothing else is known."""
        return f"cannot reach {self._address}: no answer yet"

    async def close(self) -> None:
        await self._probe.close()
        if self._channel is not None:
            await self._channel.close()
            self._channel = None
            _connections.discard(self)
            # gRPC's socket and thread end with the last of its objects, and errors of broken calls are in reference cycles.
            gc.collect()


def _open(address: str, tls: Tls | None) -> grpc.aio.Channel:
    """No connection is made before the first call."""
    if tls is None:
        return grpc.aio.insecure_channel(address, options=_OPTIONS)
    credentials = grpc.ssl_channel_credentials(
        root_certificates=_read("tls.ca", tls.ca),
        private_key=_read("tls.key", tls.key),
        certificate_chain=_read("tls.cert", tls.cert),
    )
    _check(tls)
    options = list(_OPTIONS)
    if tls.server_name is not None:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    return grpc.aio.secure_channel(address, credentials, options=options)


def _check(tls: Tls) -> None:
    """gRPC takes whatever there is in a file, and every connection fails then: nobody would learn why."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if tls.ca is not None:
        try:
            context.load_verify_locations(tls.ca)
        except ssl.SSLError as error:
            raise WrongArgumentError(
                f"tls.ca is {str(tls.ca)!r}, which has no certificate in PEM: {error}", "tls.ca"
            ) from error
    if tls.cert is not None:
        try:
            # Nobody is asked for the password of a key.
            context.load_cert_chain(tls.cert, tls.key, password="")
        except ssl.SSLError as error:
            what = "which are no certificate and its key in PEM"
            raise WrongArgumentError(
                f"tls.cert and tls.key are {str(tls.cert)!r} and {str(tls.key)!r}, {what}: {error}", "tls.cert"
            ) from error


def _read(name: str, path: str | Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise WrongArgumentError(f"{name} is {str(path)!r}, which cannot be read: {error}", name) from error
