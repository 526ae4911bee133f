"""Connections that are encrypted, and clients that show who they are."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

import keyturn
from keyturn import Tls
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


def refusal(address: str, tls: Tls | None) -> keyturn.KeyturnError:
    with keyturn.connect(address, tls=tls) as client, pytest.raises(keyturn.KeyturnError) as refused:
        client.enqueue("orders", "k", wait=0, timeout=1)
    return refused.value


@pytest.mark.parametrize("transport", ["session", "unary"])
def test_who_trusts_the_authority_talks_over_tls(
    encrypted: str, certificates: Path, key: str, transport: Literal["session", "unary"]
) -> None:
    tls = Tls(ca=certificates / "ca.pem")
    with keyturn.connect(encrypted, transport=transport, tls=tls) as client, client.turn("orders", key) as turn:
        assert client.admin.explain_key("orders", key).holder.token == turn.token


async def test_the_client_of_asyncio_has_the_same(mutual: str, certificates: Path, key: str) -> None:
    tls = Tls(str(certificates / "ca.pem"), str(certificates / "client.pem"), str(certificates / "client.key"))
    async with keyturn.aio.connect(mutual, tls=tls) as client, client.turn("orders", key) as turn:
        assert turn.token > 0


def test_who_shows_a_certificate_of_the_authority_is_let_in(mutual: str, certificates: Path, key: str) -> None:
    tls = Tls(certificates / "ca.pem", certificates / "client.pem", certificates / "client.key")
    with keyturn.connect(mutual, tls=tls) as client, client.turn("orders", key) as turn:
        assert turn.token > 0


@pytest.mark.parametrize(
    ("ca", "server_name"), [("other-ca.pem", None), ("ca.pem", "elsewhere.example"), (None, None), ("", None)]
)
def test_a_sidecar_that_is_not_trusted_is_not_talked_to(
    encrypted: str, certificates: Path, ca: str | None, server_name: str | None
) -> None:
    tls = None if ca == "" else Tls(ca=ca and certificates / ca, server_name=server_name)
    assert refusal(encrypted, tls).code == "DEADLINE_EXCEEDED"


@pytest.mark.parametrize("name", [None, "other-client", "expired-client"])
def test_who_shows_none_or_another_is_not_let_in(mutual: str, certificates: Path, name: str | None) -> None:
    own: dict[str, Any] = {} if name is None else {"cert": certificates / f"{name}.pem", "key": certificates / f"{name}.key"}
    assert refusal(mutual, Tls(ca=certificates / "ca.pem", **own)).code == "DEADLINE_EXCEEDED"


def test_files_that_hold_no_certificate_are_told(encrypted: str, certificates: Path, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing of a certificate")
    with pytest.raises(keyturn.WrongArgumentError, match=r"tls\.ca is .*no certificate"):
        keyturn.connect(encrypted, tls=Tls(ca=tmp_path / "ca.pem"))
    with pytest.raises(keyturn.WrongArgumentError, match=r"tls\.cert and tls\.key are"):
        keyturn.connect(
            encrypted, tls=Tls(certificates / "ca.pem", certificates / "client.pem", certificates / "server.key")
        )
