"""An answer that crosses the cancel of its caller: no turn is left behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import keyturn
from keyturn import EnqueueAnswer, NewItem
from keyturn._sync import loop_thread
from keyturn._sync.loop_thread import Asked
from keyturn.aio import Client, Work
from tests.crossing import KINDS, Kind, LateRenew, answered, at_the_answer, is_free
from tests.looks import holder_of


@pytest.mark.parametrize("lease", [None, 20])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_grant_of_a_raw_call_whose_task_is_cancelled_at_that_moment_is_given_back(
    address: str, aclient: Client, key: str, kind: Kind, lease: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with keyturn.aio.connect(address, transport=kind) as client:

        async def asks() -> None:
            await client.enqueue("orders", key, lease=lease)
            pytest.fail("it is cancelled")

        task = asyncio.ensure_future(asks())
        at_the_answer(monkeypatch, client._transport, "enqueue", task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await is_free(aclient, "orders", key)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_delivery_of_a_raw_call_whose_task_is_cancelled_at_that_moment_is_given_back(
    address: str, aclient: Client, queue: str, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    await aclient.submit(queue, NewItem(b"1", key="a"))
    async with keyturn.aio.connect(address, transport=kind) as client:

        async def asks() -> None:
            await client.acquire(queue, wait=5)
            pytest.fail("it is cancelled")

        task = asyncio.ensure_future(asks())
        at_the_answer(monkeypatch, client._transport, "acquire", task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        (delivery,) = await aclient.acquire(queue, wait=5)
        assert delivery.turn.attempt == 1


async def test_a_grant_that_another_call_with_its_ticket_got_too_stays(
    aclient: Client, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await aclient.enqueue("orders", key, ticket="t")
    assert first.turn is not None

    async def asks_again() -> None:
        await aclient.enqueue("orders", key, ticket="t")
        pytest.fail("it is cancelled")

    task = asyncio.ensure_future(asks_again())
    at_the_answer(monkeypatch, aclient._transport, "enqueue", task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert holder_of(await aclient.admin.explain_key("orders", key)).token == first.turn.token
    await aclient.dequeue("orders", key, token=first.turn.token)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_turn_that_is_cancelled_while_it_is_confirmed_is_given_back(
    address: str, aclient: Client, key: str, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with keyturn.aio.connect(address, transport=kind) as client:
        held = await aclient.enqueue("orders", key)
        assert held.turn is not None
        waits = asyncio.ensure_future(answered(client.enqueue("orders", key, wait=20, lease=20)))
        LateRenew(monkeypatch, client._transport, waits.cancel)
        await aclient.dequeue("orders", key, token=held.turn.token)
        with pytest.raises(asyncio.CancelledError):
            await waits
        answer = await aclient.enqueue("orders", key, wait=6, lease=0.5)
        assert answer.decision == "accept"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_delivery_that_is_confirmed_as_its_consumer_stops_is_no_dead_letter(
    address: str, aclient: Client, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def handle(_: Work) -> None:
        pytest.fail("it is stopped")

    async with keyturn.aio.connect(address, transport=kind) as client:
        consumer = client.consume("single", handle, lease=20)
        LateRenew(monkeypatch, client._transport, lambda: consumer._core.stop(5))
        submitted = await aclient.submit("single", NewItem(b"1"))
        await asyncio.wait_for(consumer.wait(), 10)
    (delivery,) = await aclient.acquire("single", wait=5)
    assert (delivery.items[0].item_id, delivery.turn.attempt) == (submitted.item_id, 1)
    await aclient.ack("single", "", delivery.turn.token)


@pytest.mark.parametrize("kind", KINDS)
def test_a_grant_that_comes_as_its_thread_is_interrupted_is_given_back(
    address: str, client: keyturn.Client, key: str, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Asked[Any]):
        def result(self, timeout: float | None = None) -> Any:
            answer = super().result(timeout)
            if isinstance(answer, EnqueueAnswer):
                raise KeyboardInterrupt
            return answer

    with keyturn.connect(address, transport=kind) as other:
        monkeypatch.setattr(loop_thread, "Asked", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            other.enqueue("orders", key)
        monkeypatch.undo()
        assert client.enqueue("orders", key, wait=6, lease=0.5).decision == "accept"
