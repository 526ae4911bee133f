"""How a client comes to its sidecar."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import keyturn
from keyturn.aio import Work
from tests.sidecar import Sidecar

FOLDER = Path(__file__).resolve().parent.parent


def test_a_unix_socket_is_an_address(tmp_path: Path) -> None:
    sidecar = Sidecar(f"unix:{tmp_path / 'keyturn.sock'}")
    try:
        with keyturn.connect(f"unix:{tmp_path / 'keyturn.sock'}") as client, client.turn("orders", "ada") as turn:
            assert turn.token > 0
    finally:
        sidecar.kill()


def test_without_an_address_the_environment_says_it(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYTURN_ADDRESS", address)
    with keyturn.connect() as client:
        assert client.address == address
    monkeypatch.delenv("KEYTURN_ADDRESS")
    with keyturn.connect() as client:
        assert client.address == "127.0.0.1:7420"


def test_breaks_and_reconnects_are_logged(own_sidecar: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "keyturn")
    with keyturn.connect(own_sidecar[0].address) as client:
        client.enqueue("orders", "ada")
        own_sidecar.append(own_sidecar[0].restarted())
        client.enqueue("orders", "bob", timeout=20)
    told = [record.message for record in caplog.records if record.name == "keyturn"]
    assert any(line.startswith("the connection broke") for line in told)
    assert any(line.startswith("connected again") for line in told)


def test_the_callback_gateway_settles_the_turn_of_another_client(address: str) -> None:
    example = FOLDER / "examples/callback_gateway.py"
    ended = subprocess.run([sys.executable, str(example), address], capture_output=True, text=True, timeout=30, check=True)
    assert ended.stdout == "settled\nsettled\n"


def test_half_a_certificate_is_refused() -> None:
    with pytest.raises(keyturn.WrongArgumentError, match=r"tls\.key is None"):
        keyturn.connect("localhost:7420", tls=keyturn.Tls(cert="cert.pem"))


@pytest.mark.parametrize("concurrency", [1, 2])
async def test_a_turn_that_was_told_unreachable_goes_back_when_the_sidecar_is_there_again(
    own_sidecar: list[Sidecar], concurrency: int
) -> None:
    tokens: asyncio.Queue[int] = asyncio.Queue()
    lost = asyncio.Event()

    async def handle(work: Work) -> None:
        tokens.put_nowait(work.token)
        if not lost.is_set():
            await asyncio.sleep(60)

    def on_error(trouble: keyturn.Trouble[Work]) -> None:
        if trouble.stage == "turn_lost":
            lost.set()

    async with keyturn.aio.connect(own_sidecar[0].address, session_ttl=1) as client:
        await client.submit("orders", keyturn.NewItem(b"1", key="a"))
        consumer = client.consume("orders", handle, concurrency=concurrency, wait=60, on_error=on_error)
        first = await tokens.get()
        own_sidecar[0].pause()
        await asyncio.wait_for(lost.wait(), 10)
        own_sidecar[0].resume()
        # Long before any Acquire ends.
        assert await asyncio.wait_for(tokens.get(), 10) > first
        await consumer.stop()
