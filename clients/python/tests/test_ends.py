"""Calls end in their time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import grpc
import pytest

import keyturn
from keyturn import NewItem
from keyturn._consume import claim
from keyturn._session import open_calls
from tests.sidecar import Sidecar

NOWHERE = "127.0.0.1:1"


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> float:
    """Instead of ten seconds."""
    for module in (open_calls, claim):
        monkeypatch.setattr(module, "GRACE", 0.5)
    return 0.5


async def test_a_call_without_a_wait_ends_soon_where_there_is_no_sidecar(short_grace: float, key: str) -> None:
    async with keyturn.aio.connect(NOWHERE) as client:
        for one in (client.enqueue("orders", key), _entered(client, key)):
            began = time.monotonic()
            with pytest.raises(keyturn.KeyturnError) as refused:
                await asyncio.wait_for(one, 30)
            assert refused.value.code == "DEADLINE_EXCEEDED"
            assert time.monotonic() - began < 10


async def _entered(client: keyturn.aio.Client, key: str) -> None:
    async with client.turn("orders", key):
        pytest.fail("there is no sidecar")


async def test_a_call_without_a_wait_ends_soon_after_its_sidecar_went(
    own_sidecar: list[Sidecar], aclient: keyturn.aio.Client, key: str, short_grace: float
) -> None:
    async with keyturn.aio.connect(own_sidecar[0].address) as client:
        held = await client.enqueue("patient", key)
        assert held.turn is not None
        waits = client.enqueue("patient", key)
        await client.enqueue("patient", key + "2")
        own_sidecar[0].kill()
        with pytest.raises(keyturn.KeyturnError):
            await asyncio.wait_for(waits, 30)


async def test_a_call_without_a_wait_waits_on_while_its_sidecar_is_there(
    aclient: keyturn.aio.Client, key: str, short_grace: float
) -> None:
    held = await aclient.enqueue("patient", key)
    assert held.turn is not None
    waits = aclient.enqueue("patient", key)
    # Longer than where there is none.
    await aclient.enqueue("patient", key + "2")
    await aclient.acquire("nothing", wait=3 * short_grace)
    assert not waits.done()
    await aclient.dequeue("patient", key, token=held.turn.token)
    assert (await waits).decision == "accept"


async def test_a_call_without_a_wait_that_is_the_first_of_its_client_waits_on_too(
    address: str, aclient: keyturn.aio.Client, key: str, short_grace: float
) -> None:
    held = await aclient.enqueue("patient", key)
    assert held.turn is not None
    async with keyturn.aio.connect(address) as client:
        # Asked before there is a sidecar.
        waits = client.enqueue("patient", key)
        await aclient.acquire("nothing", wait=3 * short_grace)
        assert not waits.done()
        await aclient.dequeue("patient", key, token=held.turn.token)
        assert (await waits).decision == "accept"


@pytest.mark.parametrize("kind", ["session", "unary"])
async def test_a_call_that_is_made_in_the_last_moment_of_the_close_is_answered(
    address: str, queue: str, kind: Literal["session", "unary"], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = keyturn.aio.connect(address, transport=kind)
    core: Any = client._core
    calls: list[asyncio.Future[Any]] = []

    def at_the_end_of(calling: Any, ask: Any) -> None:
        close = calling.close

        async def closing() -> None:
            calls.append(ask())
            await close()

        monkeypatch.setattr(calling, "close", closing)

    at_the_end_of(core._unary, client.admin.list_queues)
    if kind == "unary":
        at_the_end_of(core.transport._unary, lambda: client.await_item(queue, "x"))
    await client.close()
    assert calls
    for call in calls:
        with pytest.raises(keyturn.KeyturnError, match="closed"):
            await asyncio.wait_for(call, 10)


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[keyturn.aio.Client]:
    """A client whose calls are all answered with these bytes."""

    async def handle(request: bytes, context: Any) -> bytes:
        return answer

    server = grpc.aio.server()
    server.add_generic_rpc_handlers((_Answers(grpc.unary_unary_rpc_method_handler(handle)),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with keyturn.aio.connect(f"127.0.0.1:{port}", transport="unary") as client:
        yield client
    await server.stop(0)


async def test_an_answer_that_cannot_be_read_is_told() -> None:
    async with answering(b"\xff") as client:
        for call in (client.enqueue("orders", "a"), client.admin.explain_key("orders", "a")):
            with pytest.raises(keyturn.KeyturnError, match="cannot be read") as refused:
                await asyncio.wait_for(call, 10)
            assert refused.value.code == "INTERNAL"


async def test_an_answer_without_a_result_for_each_item_is_told() -> None:
    async with answering(b"") as client:
        for call in (client.submit("q", NewItem(b"1")), client.submit_batch("q", [NewItem(b"1")])):
            with pytest.raises(keyturn.KeyturnError, match="0 results for 1 items") as refused:
                await asyncio.wait_for(call, 10)
            assert refused.value.reason == "BAD_ANSWER"


class _Answers(grpc.GenericRpcHandler):
    """Every call in the same way."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler

    def service(self, handler_call_details: Any) -> Any:
        return self._handler
