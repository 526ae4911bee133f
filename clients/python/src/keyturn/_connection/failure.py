"""Why no connection came about, in words that tell what to do. gRPC has one status and its own texts for all of it."""

from __future__ import annotations

import re
from typing import Final, Literal

from keyturn.errors import KeyturnError

Security = Literal["plain", "tls", "mutual_tls"]
"""Whether and how a connection is encrypted."""

_LAST_ERROR: Final = re.compile(r"failed to connect to all addresses; last error: (.*)", re.DOTALL)
# gRPC's own name for a code, and the address that it came to.
_PLACE: Final = re.compile(r"^(?:[A-Z_]+: )?(?:(?:ipv4|ipv6|unix):\S+: )?")
_NO_NAME: Final = re.compile(r"DNS resolution failed|Name resolution failure", re.IGNORECASE)
_CLOSED_AT_ONCE: Final = re.compile(
    r"Socket closed|Connection reset|Broken pipe|Unwrap failed|Stream removed", re.IGNORECASE
)
_WRONG_NAME: Final = re.compile(r"Hostname Verification|not in peer certificate", re.IGNORECASE)
# BoringSSL's word, and for a certificate that it does not accept what is wrong with it.
_BORING_SSL: Final = re.compile(r"OPENSSL_internal:(\w+)(?:: ([^:]+))?")
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST")


class TlsError(KeyturnError):
    """Both sides are there and disagree: without a change nothing gets better."""

    def __init__(self, message: str, is_certain: bool) -> None:
        super().__init__(message, "UNAVAILABLE")
        self.is_certain = is_certain
        """No: a sidecar that is about to stop looks the same."""

    def told(self, message: str) -> TlsError:
        """The same in other words."""
        return TlsError(message, self.is_certain)


class MaybeTlsError(KeyturnError):
    """A sidecar that speaks TLS would have done the same."""


def explained(error: KeyturnError, security: Security, name: str) -> KeyturnError | None:
    """Why there is no connection; None: the error is of something else. `name`: for which the sidecar's certificate must be."""
    if error.code != "UNAVAILABLE":
        return None
    found = _LAST_ERROR.search(str(error))
    if found is None:
        return KeyturnError(str(error), error.code) if _NO_NAME.search(str(error)) else None
    last = found[1]
    other = KeyturnError(_PLACE.sub("", last), error.code)
    if security == "plain":
        return MaybeTlsError(_MAYBE_TLS, "UNAVAILABLE") if _CLOSED_AT_ONCE.search(last) else other
    if _WRONG_NAME.search(last):
        what = f"the certificate of the sidecar is not for {name} (option tls.server_name: the name it must be for)"
        return TlsError(f"{_OVER_TLS}: {what}", True)
    if "handshake failed" in last.lower():
        return TlsError(f"{_OVER_TLS}: {_of_handshake(last)}", True)
    # What cannot be unwrapped was an alert: the sidecar says no. That it closes the connection may have another reason.
    is_alert = "Unwrap failed" in last
    if not _CLOSED_AT_ONCE.search(last):
        return other
    return TlsError(f"{_OVER_TLS}: {_AFTER_HANDSHAKE[security]}", is_alert)


def speaks_tls(is_certain: bool) -> KeyturnError:
    """While it is not certain it is one to try again after: TlsError refuses everything that is open."""
    return TlsError(_SPEAKS_TLS, True) if is_certain else MaybeTlsError(_SPEAKS_TLS, "UNAVAILABLE")


_SPEAKS_TLS: Final = "the sidecar speaks TLS, and this client does not (option tls)"
_OVER_TLS: Final = "no connection over TLS"
_MAYBE_TLS: Final = (
    "the sidecar closed the connection before it said anything: it may want TLS (option tls), or be about to stop"
)
_CLOSED: Final = "the sidecar closed the connection after the handshake:"
_AFTER_HANDSHAKE: Final = {
    "tls": f"{_CLOSED} it may want a certificate of the client (tls.cert and tls.key)",
    "mutual_tls": f"{_CLOSED} it may not accept the certificate of the client (tls.cert)",
}


def _of_handshake(text: str) -> str:
    found = _BORING_SSL.search(text)
    if found is None:
        return text
    word, why = found[1], (found[2] or "").strip()
    if word in _NO_TLS:
        return f"the sidecar does not speak TLS ({_plain(word)})"
    if word == "CERTIFICATE_VERIFY_FAILED":
        by_whom = " (option tls.ca: the authority that signed it)" if "issuer" in why or "self" in why else ""
        return f"the certificate of the sidecar is not accepted: {why}{by_whom}"
    if "CERTIFICATE_REQUIRED" in word:
        return f"the sidecar wants a certificate of the client, tls.cert and tls.key ({_plain(word)})"
    return _plain(word)


def _plain(word: str) -> str:
    return word.replace("_", " ").lower()
