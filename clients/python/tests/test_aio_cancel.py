"""Tasks that are cancelled at a bad moment, loops that end too early."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest

import keyturn
from keyturn.aio import Client, Work
from tests.crossing import at_the_answer


@pytest.mark.parametrize("wait", [0, 5])
@pytest.mark.parametrize("order", ["coalesce", "strict"])
@pytest.mark.parametrize("transport", ["session", "unary"])
async def test_a_turn_that_comes_as_its_task_is_cancelled_is_given_back(
    address: str,
    key: str,
    order: Literal["coalesce", "strict"],
    wait: float,
    transport: Literal["session", "unary"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with keyturn.aio.connect(address, transport=transport) as client:

        async def holds() -> None:
            async with client.turn("orders", key, order=order, wait=wait):
                pytest.fail("its task was cancelled")

        task = asyncio.ensure_future(holds())
        method = "enqueue" if order == "coalesce" else "acquire"
        at_the_answer(monkeypatch, client._transport, method, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        async with client.turn("orders", key, wait=5) as turn:
            assert turn.token > 0


async def test_items_that_come_as_their_consumer_stops_are_given_back(
    aclient: Client, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def handle(_: Work) -> None:
        pytest.fail("it is stopped")

    submitted = await aclient.submit(queue, keyturn.NewItem(b"1", key="a"))

    def stop() -> None:
        consumer._core.stop(5)

    at_the_answer(monkeypatch, aclient._transport, "acquire", stop)
    consumer = aclient.consume(queue, handle)
    await asyncio.wait_for(consumer.wait(), 10)
    answer = await aclient.await_item(queue, submitted.item_id)
    assert (answer.state, answer.attempt) == ("waiting", 0)
