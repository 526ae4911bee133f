"""A client or a producer that is closed leaves nothing behind."""

from __future__ import annotations

import asyncio
import math
import threading
from pathlib import Path
from typing import Any

import pytest

import keyturn
from keyturn import NewItem


async def test_nothing_is_kept_of_a_producer_whose_close_was_cancelled(address: str, tmp_path: Path) -> None:
    async with keyturn.aio.connect(address) as client:
        producer = client.producer("e", spool=keyturn.Spool(tmp_path), on_error=print)
        producer.add(NewItem(b"1"))
        closing = asyncio.ensure_future(producer.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        core: Any = client._core
        # To close it again would tidy up too.
        assert producer._core._closing is not None
        await asyncio.wait_for(asyncio.shield(producer._core._closing), 10)
        assert not core._producers


@pytest.mark.parametrize("timeout", [math.inf, 100_000])
async def test_a_client_with_a_producer_is_closed_with_any_timeout(address: str, queue: str, timeout: float) -> None:
    client = keyturn.aio.connect(address)
    added = client.producer(queue).add(NewItem(b"1"))
    await client.close(timeout)
    assert (await added).decision == "accept"
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        await client.enqueue(queue, "a")


@pytest.mark.parametrize("timeout", [math.inf, 100_000])
def test_a_client_for_threads_with_a_producer_is_closed_with_any_timeout(address: str, queue: str, timeout: float) -> None:
    client = keyturn.connect(address)
    added = client.producer(queue).add(NewItem(b"1"))
    client.close(timeout)
    assert added.result(0).decision == "accept"


async def test_a_client_is_closed_though_its_producer_cannot_be(
    address: str, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = keyturn.aio.connect(address)

    async def fails(_: float | None = None) -> None:
        raise ValueError("it cannot be closed")

    monkeypatch.setattr(client.producer(queue)._core, "close", fails)
    with pytest.raises(ValueError, match="cannot be closed"):
        await client.close()
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        await client.enqueue(queue, "a")


def test_a_producer_that_was_not_closed_for_a_wrong_timeout_goes_on(client: keyturn.Client, queue: str) -> None:
    producer = client.producer(queue)
    with pytest.raises(keyturn.WrongArgumentError):
        producer.close(-1)
    assert producer.add(NewItem(b"1")).result(10).decision == "accept"


async def test_a_closed_client_makes_no_producer(address: str, queue: str, tmp_path: Path) -> None:
    client = keyturn.aio.connect(address)
    closing = asyncio.ensure_future(client.close())
    await asyncio.sleep(0)
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        client.producer(queue, spool=keyturn.Spool(tmp_path), on_error=print)
    await closing
    assert not [one for one in threading.enumerate() if one.name == "keyturn-spool"]
