"""An answer that crosses a stop, or the end of the client: no turn is left behind."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Literal

import pytest

import keyturn
from keyturn import NewItem
from keyturn._connection.call import Call
from keyturn._session import session as session_module
from keyturn._session.turns import confirmations
from keyturn.aio import Client, Work
from tests.crossing import KINDS, CutAtCancel, HeldBack, Kind, answered, at_the_answer, is_free


@pytest.mark.parametrize("order", ["coalesce", "strict"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_scoped_turn_that_is_granted_as_its_client_begins_to_close_blocks_nobody(
    address: str,
    aclient: Client,
    key: str,
    kind: Kind,
    order: Literal["coalesce", "strict"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = keyturn.aio.connect(address, transport=kind)
    closing: list[asyncio.Future[None]] = []

    async def holds() -> None:
        async with client.turn("orders", key, wait=5, order=order):
            await asyncio.sleep(30)

    method = "enqueue" if order == "coalesce" else "acquire"
    at_the_answer(monkeypatch, client._transport, method, lambda: closing.append(asyncio.ensure_future(client.close())))
    with pytest.raises(keyturn.KeyturnError):
        await holds()
    await closing[0]
    assert await is_free(aclient, "orders", key)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_block_that_ends_when_its_client_is_closed_blocks_nobody(
    address: str, aclient: Client, key: str, kind: Kind
) -> None:
    client = keyturn.aio.connect(address, transport=kind)
    entered = asyncio.Event()

    async def holds() -> None:
        async with client.turn("orders", key):
            entered.set()
            await asyncio.sleep(30)

    task = asyncio.ensure_future(holds())
    await entered.wait()
    await client.close()
    with pytest.raises(keyturn.TurnLostError) as lost:
        await task
    assert lost.value.cause == "closed"
    assert await is_free(aclient, "orders", key)


def test_a_block_of_a_thread_that_ends_when_its_client_is_closed_blocks_nobody(
    address: str, client: keyturn.Client, key: str
) -> None:
    other = keyturn.connect(address)
    entered = threading.Event()
    told: list[BaseException] = []

    def holds() -> None:
        try:
            with other.turn("orders", key) as turn:
                entered.set()
                turn.stopping.wait(30)
        except keyturn.TurnLostError as error:
            told.append(error)

    thread = threading.Thread(target=holds)
    thread.start()
    assert entered.wait(10)
    other.close()
    thread.join()
    assert len(told) == 1
    assert client.enqueue("orders", key, wait=6, lease=0.5).decision == "accept"


async def test_a_turn_is_refused_once_its_client_began_to_close(address: str, key: str) -> None:
    client = keyturn.aio.connect(address)
    closing = asyncio.ensure_future(client.close())
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        async with client.turn("orders", key):
            pytest.fail("it is closing")
    await closing


@pytest.mark.parametrize("by", ["stop", "close"])
async def test_a_delivery_that_crosses_a_stop_is_no_dead_letter(
    address: str, aclient: Client, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def handle(_: Work) -> None:
        pytest.fail("it is stopped")

    client = keyturn.aio.connect(address)
    held_back = HeldBack(monkeypatch, client)
    consumer = client.consume("single", handle)
    await client.enqueue("orders", by, lease=0.1)
    held_back.begin()
    submitted = await aclient.submit("single", NewItem(b"1"))
    await held_back.has_answer.wait()
    await (consumer.stop() if by == "stop" else client.close())
    (delivery,) = await aclient.acquire("single", wait=6)
    assert (delivery.items[0].item_id, delivery.turn.attempt) == (submitted.item_id, 1)
    await aclient.ack("single", "", delivery.turn.token)
    await client.close()


@pytest.mark.parametrize("how", ["raw", "scoped"])
async def test_a_grant_that_crosses_the_close_of_its_client_blocks_nobody(
    address: str, aclient: Client, key: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = keyturn.aio.connect(address)
    held_back = HeldBack(monkeypatch, client)
    held = await aclient.enqueue("orders", key)
    assert held.turn is not None
    asks = client.enqueue("orders", key, wait=5) if how == "raw" else client.with_turn("orders", key, _never, wait=5)
    waits = asyncio.ensure_future(asks)
    await client.enqueue("orders", key + "2", lease=0.1)
    held_back.begin()
    await aclient.dequeue("orders", key, token=held.turn.token)
    await held_back.has_answer.wait()
    await client.close()
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        await waits
    assert await is_free(aclient, "orders", key)


async def _never(_: object) -> None:
    pytest.fail("it is closing")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_turn_that_is_being_confirmed_when_its_client_is_closed_is_given_back(
    address: str, aclient: Client, key: str, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = keyturn.aio.connect(address, transport=kind)
    transport: Any = client._transport
    begun = asyncio.Event()

    def never(*_: Any, **__: Any) -> Any:
        begun.set()
        return Call(loop=transport.loop)

    transport._confirmations._ask = never
    with monkeypatch.context() as patch:
        patch.setattr(confirmations, "_FRESH", 0)
        asked = asyncio.ensure_future(answered(client.enqueue("orders", key, ticket="t", wait=5, lease=20)))
        await begun.wait()
    await client.close()
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        await asked
    assert await is_free(aclient, "orders", key)


async def test_a_turn_that_a_stream_had_brought_which_broke_while_its_client_was_closed_is_given_back(
    address: str, aclient: Client, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long enough for a machine that is busy.
    monkeypatch.setattr(session_module, "_FAREWELL", 20)
    client = keyturn.aio.connect(address, session_ttl=60)
    held_back = CutAtCancel(monkeypatch, client)
    held = await aclient.enqueue("orders", key)
    assert held.turn is not None
    waits = asyncio.ensure_future(answered(client.enqueue("orders", key, wait=20)))
    await client.enqueue("orders", key + "2", lease=0.1)
    held_back.begin()
    await aclient.dequeue("orders", key, token=held.turn.token)
    await held_back.has_answer.wait()
    await client.close()
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        await waits
    assert await is_free(aclient, "orders", key)
