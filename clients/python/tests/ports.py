"""Ports that answer a TLS handshake, or do not come to its end, and close everything else."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType

_HANDSHAKE = b"\x16"
_LONG_RECORD = bytes((0x16, 3, 3, 0x40, 0))


class _Port:
    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"

    def __enter__(self) -> _Port:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._guarded, args=(self._server.accept()[0],), daemon=True).start()

    def _guarded(self, one: socket.socket) -> None:
        with suppress(OSError), one:
            self._serve(one, one.recv(65_536))

    def _serve(self, one: socket.socket, first: bytes) -> None:
        raise NotImplementedError


class Trickle(_Port):
    """Sends a record of TLS so slowly that it never ends."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._now = 0
        self.most = 0
        """How many handshakes there were at a time."""

    def __enter__(self) -> Trickle:
        super().__enter__()
        return self

    def _serve(self, one: socket.socket, first: bytes) -> None:
        if not first.startswith(_HANDSHAKE):
            return
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            one.settimeout(0.05)
            one.sendall(_LONG_RECORD)
            while _is_open(one):
                one.sendall(b"\0")
        finally:
            with self._lock:
                self._now -= 1


class TwoPorts(_Port):
    """For a sidecar without TLS and one with it. The first is up after the first handshake."""

    def __init__(self, plain: str, tls: str) -> None:
        super().__init__()
        self._plain = plain
        self._tls = tls
        self.is_up = False

    def __enter__(self) -> TwoPorts:
        super().__enter__()
        return self

    def _serve(self, one: socket.socket, first: bytes) -> None:
        is_tls = first.startswith(_HANDSHAKE)
        if not is_tls and not self.is_up:
            return
        host, _, port = (self._tls if is_tls else self._plain).rpartition(":")
        try:
            with socket.create_connection((host, int(port))) as behind:
                threading.Thread(target=_copy, args=(behind, one), daemon=True).start()
                behind.sendall(first)
                _copy(one, behind)
        finally:
            self.is_up = self.is_up or is_tls


def _is_open(one: socket.socket) -> bool:
    try:
        return len(one.recv(1)) > 0
    except TimeoutError:
        return True


def _copy(source: socket.socket, to: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            to.sendall(data)
    with suppress(OSError):
        to.shutdown(socket.SHUT_RDWR)
