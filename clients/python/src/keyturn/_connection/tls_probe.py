"""Who is there, when a connection without TLS is closed before a word was said."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, Final

# How long a handshake may take that only shows who is there, seconds.
_LONGEST: Final = 1.0
# How long its answer serves other calls, seconds.
_FRESH: Final = 1.0
# A port may answer handshakes for a while before the sidecar behind it is up: only a second answer so much later counts, seconds.
_APART: Final = 2.0


class TlsProbe:
    """Makes handshakes with a port, one at a time for all calls that failed."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._task: asyncio.Task[None] | None = None
        self._began_at = 0.0
        self._ended_at: float | None = None
        # The first of the handshakes in a row that were answered.
        self._answered_since: float | None = None

    @property
    def is_answered(self) -> bool:
        return self._answered_since is not None

    @property
    def is_certain(self) -> bool:
        """Two handshakes were answered, and between them there was time enough for a sidecar to start."""
        return self._answered_since is not None and self._began_at - self._answered_since >= _APART

    async def ask(self, limit: float | None) -> None:
        """Wait until there is an answer of late: a second at most, and no longer than `limit` seconds."""
        loop = asyncio.get_running_loop()
        if self._task is None:
            now = loop.time()
            if self._ended_at is not None and now - self._ended_at < _FRESH:
                return
            self._began_at = now
            self._task = loop.create_task(self._run(loop))
        await asyncio.wait((self._task,), timeout=limit)

    async def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        speaks = False
        try:
            speaks = await _speaks_tls(self._address)
        finally:
            self._task = None
            self._ended_at = loop.time()
            if not speaks:
                self._answered_since = None
            elif self._answered_since is None:
                self._answered_since = self._ended_at

    async def close(self) -> None:
        """Nothing is left when it returns."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))


async def _speaks_tls(address: str) -> bool:
    """Whether a handshake is answered at `host:port` or `unix:/path`. Nothing is sent in it: no certificate matters."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    try:
        _, writer = await asyncio.wait_for(_opened(address, context), _LONGEST)
    except ssl.SSLError as error:
        # An alert is sent by no server but one of TLS, which does not like this client.
        return "ALERT" in (error.reason or "")
    except (OSError, ValueError, asyncio.TimeoutError, EOFError):
        return False
    writer.transport.abort()
    return True


async def _opened(address: str, context: ssl.SSLContext) -> tuple[Any, asyncio.StreamWriter]:
    if address.startswith("unix:"):
        path = address.removeprefix("unix:")
        return await asyncio.open_unix_connection(path, ssl=context, server_hostname="localhost")
    host, _, port = address.rpartition(":")
    return await asyncio.open_connection(host.strip("[]"), int(port), ssl=context, server_hostname="localhost")
