"""Connections that are encrypted, and clients that show who they are."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest

import keyturn
from keyturn import NewItem, Tls
from keyturn.aio import Work
from tests.looks import holder_of
from tests.ports import Trickle, TwoPorts
from tests.sidecar import ROOT, Sidecar


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    subprocess.run(["node", str(ROOT / "dist/test/support/make-certificates.js"), str(folder)], check=True, timeout=60)
    return folder


def start(folder: Path, certificates: Path, client_ca: bool) -> Sidecar:
    files = f"cert: {certificates}/server.pem, key: {certificates}/server.key"
    more = f", client_ca: {certificates}/ca.pem" if client_ca else ""
    return Sidecar(config=f"tls: {{ {files}{more} }}\n", folder=folder)


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory, certificates: Path) -> Iterator[str]:
    sidecar = start(tmp_path_factory.mktemp("tls"), certificates, client_ca=False)
    yield sidecar.address
    sidecar.kill()


@pytest.fixture(scope="module")
def mutual(tmp_path_factory: pytest.TempPathFactory, certificates: Path) -> Iterator[str]:
    sidecar = start(tmp_path_factory.mktemp("mtls"), certificates, client_ca=True)
    yield sidecar.address
    sidecar.kill()


KINDS: list[Literal["session", "unary"]] = ["session", "unary"]
FAR = 300


def refusal(address: str, tls: Tls | None, transport: Literal["session", "unary"]) -> keyturn.KeyturnError:
    """Long before the call's time is over."""
    began = time.monotonic()
    with keyturn.connect(address, tls=tls, transport=transport) as client:
        with pytest.raises(keyturn.KeyturnError) as refused:
            client.enqueue("orders", "k", wait=FAR)
        assert time.monotonic() - began < FAR / 10
    return refused.value


@pytest.mark.parametrize("transport", ["session", "unary"])
def test_who_trusts_the_authority_talks_over_tls(
    encrypted: str, certificates: Path, key: str, transport: Literal["session", "unary"]
) -> None:
    tls = Tls(ca=certificates / "ca.pem")
    with keyturn.connect(encrypted, transport=transport, tls=tls) as client, client.turn("orders", key) as turn:
        assert holder_of(client.admin.explain_key("orders", key)).token == turn.token


async def test_the_client_of_asyncio_has_the_same(mutual: str, certificates: Path, key: str) -> None:
    tls = Tls(str(certificates / "ca.pem"), str(certificates / "client.pem"), str(certificates / "client.key"))
    async with keyturn.aio.connect(mutual, tls=tls) as client, client.turn("orders", key) as turn:
        assert turn.token > 0


def test_who_shows_a_certificate_of_the_authority_is_let_in(mutual: str, certificates: Path, key: str) -> None:
    tls = Tls(certificates / "ca.pem", certificates / "client.pem", certificates / "client.key")
    with keyturn.connect(mutual, tls=tls) as client, client.turn("orders", key) as turn:
        assert turn.token > 0


@pytest.mark.parametrize("transport", KINDS)
@pytest.mark.parametrize(
    ("ca", "server_name", "why"),
    [
        ("other-ca.pem", None, "not accepted: .*issuer.*tls.ca"),
        ("ca.pem", "elsewhere.example", "is not for elsewhere.example .*tls.server_name"),
        (None, None, "not accepted: .*issuer.*tls.ca"),
    ],
)
def test_a_sidecar_that_is_not_trusted_is_not_talked_to_and_told_at_once(
    encrypted: str,
    certificates: Path,
    ca: str | None,
    server_name: str | None,
    why: str,
    transport: Literal["session", "unary"],
) -> None:
    told = refusal(encrypted, Tls(ca=ca and certificates / ca, server_name=server_name), transport)
    assert told.code == "UNAVAILABLE"
    assert re.search(f"no connection over TLS: the certificate of the sidecar .*{why}", str(told))


@pytest.mark.parametrize("transport", KINDS)
@pytest.mark.parametrize("name", [None, "other-client", "expired-client"])
def test_who_shows_none_or_another_is_not_let_in_and_told_at_once(
    mutual: str, certificates: Path, name: str | None, transport: Literal["session", "unary"]
) -> None:
    own: dict[str, Any] = {} if name is None else {"cert": certificates / f"{name}.pem", "key": certificates / f"{name}.key"}
    told = refusal(mutual, Tls(ca=certificates / "ca.pem", **own), transport)
    assert told.code == "UNAVAILABLE"
    why = "may want a certificate of the client" if name is None else "may not accept the certificate of the client"
    assert re.search(f"no connection over TLS: .*{why}", str(told))


@pytest.mark.parametrize("transport", KINDS)
def test_a_sidecar_without_tls_is_told_at_once(
    address: str, certificates: Path, transport: Literal["session", "unary"]
) -> None:
    told = refusal(address, Tls(ca=certificates / "ca.pem"), transport)
    assert (told.code, "does not speak TLS" in str(told)) == ("UNAVAILABLE", True)


async def test_whatever_is_built_on_the_calls_ends_at_once_too(encrypted: str, certificates: Path, tmp_path: Path) -> None:
    async with keyturn.aio.connect(encrypted, tls=Tls(ca=certificates / "other-ca.pem")) as client:

        async def handle(_: Work) -> None:
            pytest.fail("there is no connection")

        consumer = client.consume("orders", handle)
        for one in (client.submit("orders", NewItem()), client.with_turn("orders", "k", _never, wait=FAR), consumer.wait()):
            with pytest.raises(keyturn.KeyturnError, match="no connection over TLS"):
                await asyncio.wait_for(one, 9)


async def _never(_: object) -> None:
    pytest.fail("there is no connection")


CALLS: dict[str, Callable[[keyturn.Client], object]] = {
    "submit": lambda client: client.submit("orders", NewItem(b"1")),
    "enqueue": lambda client: client.enqueue("orders", "k", wait=FAR),
    "with_turn": lambda client: client.with_turn("orders", "k", lambda _: None, wait=FAR),
    "result": lambda client: client.result("orders", "i"),
    "explain_key": lambda client: client.admin.explain_key("orders", "k"),
}


@pytest.mark.parametrize("transport", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_a_client_without_tls_is_told_at_once_that_the_sidecar_speaks_it(
    encrypted: str, call: str, transport: Literal["session", "unary"]
) -> None:
    with keyturn.connect(encrypted, transport=transport) as client, pytest.raises(keyturn.KeyturnError) as refused:
        CALLS[call](client)
    # Not that of a time-out.
    assert refused.value.code == "UNAVAILABLE"
    assert str(refused.value) == f"cannot reach {encrypted}: the sidecar speaks TLS, and this client does not (option tls)"


@pytest.mark.parametrize("transport", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_a_client_with_tls_is_told_at_once_that_the_sidecar_does_not_speak_it(
    address: str, certificates: Path, call: str, transport: Literal["session", "unary"]
) -> None:
    tls = Tls(ca=certificates / "ca.pem")
    with keyturn.connect(address, tls=tls, transport=transport) as client, pytest.raises(keyturn.KeyturnError) as refused:
        CALLS[call](client)
    assert refused.value.code == "UNAVAILABLE"
    assert str(refused.value).startswith(f"cannot reach {address}: no connection over TLS: the sidecar does not speak TLS")


@pytest.mark.parametrize("transport", KINDS)
def test_a_sidecar_that_is_not_there_is_named_with_the_reason(transport: Literal["session", "unary"]) -> None:
    with keyturn.connect("127.0.0.1:1", transport=transport) as client, pytest.raises(keyturn.KeyturnError) as refused:
        client.enqueue("orders", "k", timeout=1)
    assert "cannot reach 127.0.0.1:1: " in str(refused.value)
    assert "Connection refused" in str(refused.value)


@pytest.mark.parametrize("transport", KINDS)
def test_a_server_that_closes_for_another_reason_is_not_told_to_speak_tls(transport: Literal["session", "unary"]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_rude, args=(server,), daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with keyturn.connect(address, transport=transport) as client, pytest.raises(keyturn.KeyturnError) as refused:
            client.enqueue("orders", "k", timeout=2)
        server.close()
    assert f"cannot reach {address}: " in str(refused.value)
    assert "speaks TLS" not in str(refused.value)


def _rude(server: socket.socket) -> None:
    with suppress(OSError):
        while True:
            server.accept()[0].close()


@pytest.mark.parametrize("transport", KINDS)
def test_a_port_that_answers_handshakes_before_its_sidecar_is_up_ends_no_call(
    address: str, encrypted: str, transport: Literal["session", "unary"]
) -> None:
    with TwoPorts(address, encrypted) as port, keyturn.connect(port.address, transport=transport) as client:
        client.submit("orders", NewItem(b"1"))
        assert port.is_up


@pytest.mark.parametrize("transport", KINDS)
def test_a_handshake_that_never_ends_holds_up_no_call_and_is_not_made_twice_at_a_time(
    transport: Literal["session", "unary"],
) -> None:
    with Trickle() as port, keyturn.connect(port.address, transport=transport) as client, ThreadPoolExecutor(20) as pool:
        began = time.monotonic()
        calls = [pool.submit(client.submit, "orders", NewItem(b"1"), timeout=0.5) for _ in range(20)]
        for call in calls:
            with pytest.raises(keyturn.KeyturnError, match=f"cannot reach {port.address}: "):
                call.result()
        assert time.monotonic() - began < FAR / 10
        assert port.most == 1


@pytest.mark.parametrize("transport", KINDS)
def test_a_call_without_a_connection_names_the_address_when_its_time_is_over(
    transport: Literal["session", "unary"],
) -> None:
    # It takes connections, and says nothing.
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        with keyturn.connect(address, transport=transport) as client, pytest.raises(keyturn.KeyturnError) as refused:
            client.submit("orders", NewItem(b"1"), timeout=0.3)
    assert refused.value.code == "DEADLINE_EXCEEDED"
    assert str(refused.value).endswith(f": cannot reach {address}: no answer yet")


def test_files_that_hold_no_certificate_are_told(encrypted: str, certificates: Path, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing of a certificate")
    with pytest.raises(keyturn.WrongArgumentError, match=r"tls\.ca is .*no certificate"):
        keyturn.connect(encrypted, tls=Tls(ca=tmp_path / "ca.pem"))
    with pytest.raises(keyturn.WrongArgumentError, match=r"tls\.cert and tls\.key are"):
        keyturn.connect(
            encrypted, tls=Tls(certificates / "ca.pem", certificates / "client.pem", certificates / "server.key")
        )


async def test_a_spool_takes_items_while_certificates_do_not_fit_and_says_so(
    encrypted: str, certificates: Path, tmp_path: Path
) -> None:
    told: list[str] = []
    async with keyturn.aio.connect(encrypted, tls=Tls(ca=certificates / "other-ca.pem")) as client:
        producer = client.producer("e", spool=keyturn.Spool(tmp_path), on_error=lambda error, _: told.append(str(error)))
        assert (await producer.add(NewItem(b"1"))).decision == "spooled"
        await producer.close()
    assert len(told) <= 1
    assert all("no connection over TLS" in one for one in told)
