"""Calls end in their time, and nothing is kept of what has ended."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from pathlib import Path
from typing import Any, Literal

import grpc
import pytest

import keyturn
from keyturn import NewItem
from keyturn._session import open_calls
from keyturn._work import claim
from keyturn.aio import Work
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


async def test_a_handler_that_failed_for_the_last_time_is_told_by_default(
    aclient: keyturn.aio.Client, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(_: Work) -> None:
        raise ValueError("no luck")

    stages: list[str] = []
    consumer = aclient.consume("single", handle, on_error=lambda trouble: stages.append(trouble.stage))
    submitted = await aclient.submit("single", NewItem(b"1", key=key))
    with pytest.raises(keyturn.ItemFailedError):
        await aclient.result("single", submitted.item_id)
    await consumer.stop()
    assert stages == ["handler", "dead_letter"]
    (told,) = [one for one in caplog.records if "dead letter" in one.getMessage()]
    assert told.levelname == "WARNING"
    for part in ("queue single", f"key {key!r}", "attempt 1", "no luck"):
        assert part in told.getMessage()


async def test_a_stop_that_cut_handlers_off_says_so(
    aclient: keyturn.aio.Client, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    begun = asyncio.Event()
    troubles: list[keyturn.Trouble[Work]] = []

    async def handle(work: Work) -> None:
        begun.set()
        await asyncio.sleep(60)

    await aclient.submit(queue, NewItem(b"1", key="a"))
    consumer = aclient.consume(queue, handle, on_error=troubles.append)
    await begun.wait()
    assert not await consumer.stop(0)
    (trouble,) = troubles
    assert (trouble.stage, type(trouble.error), trouble.work and trouble.work.key) == (
        "stop",
        keyturn.ConsumerStoppedError,
        "a",
    )
    assert any("stop" in one.getMessage() and "key 'a'" in one.getMessage() for one in caplog.records)


def test_a_stop_that_cut_threads_off_says_so(client: keyturn.Client, queue: str) -> None:
    begun, ends = threading.Event(), threading.Event()
    stages: list[str] = []

    def handle(_: keyturn.Work) -> None:
        begun.set()
        # It does not look whether it must stop.
        ends.wait(30)

    client.submit(queue, NewItem(b"1", key="a"))
    consumer = client.consume(queue, handle, on_error=lambda trouble: stages.append(trouble.stage))
    assert begun.wait(10)
    assert not consumer.stop(0)
    ends.set()
    assert stages == ["stop"]


def test_a_stop_that_let_handlers_finish_says_so(client: keyturn.Client, queue: str) -> None:
    assert client.consume(queue, print).stop(5)


async def test_a_consumer_that_is_stopped_before_it_asked_ends_at_once(aclient: keyturn.aio.Client, queue: str) -> None:
    async def handle(_: Work) -> None:
        pytest.fail("it is stopped")

    began = time.monotonic()
    # In a task of its own it would be stopped after that.
    assert await aclient.consume(queue, handle).stop(20)
    assert time.monotonic() - began < 10


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


async def test_an_answer_that_cannot_be_read_is_told() -> None:
    async def garbage(request: bytes, context: Any) -> bytes:
        return b"\xff"

    server = grpc.aio.server()
    server.add_generic_rpc_handlers((_Answers(grpc.unary_unary_rpc_method_handler(garbage)),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with keyturn.aio.connect(f"127.0.0.1:{port}", transport="unary") as client:
        for call in (client.enqueue("orders", "a"), client.admin.explain_key("orders", "a")):
            with pytest.raises(keyturn.KeyturnError, match="cannot be read") as refused:
                await asyncio.wait_for(call, 10)
            assert refused.value.code == "INTERNAL"
    await server.stop(0)


class _Answers(grpc.GenericRpcHandler):
    """Every call in the same way."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler

    def service(self, handler_call_details: Any) -> Any:
        return self._handler


async def test_a_handler_that_ends_when_it_is_cut_off_is_told_once(own_sidecar: list[Sidecar], queue: str) -> None:
    begun = asyncio.Event()
    stages: list[str] = []

    async def handle(_: Work) -> None:
        begun.set()
        await asyncio.sleep(60)

    async with keyturn.aio.connect(own_sidecar[0].address) as client:
        await client.submit(queue, NewItem(b"1"))
        consumer = client.consume(queue, handle, on_error=lambda trouble: stages.append(trouble.stage))
        await begun.wait()
        # What it gives back waits for an answer that does not come in the time of the stop.
        own_sidecar[0].pause()
        assert not await consumer.stop(0)
        own_sidecar[0].resume()
    assert stages == ["stop"]


async def test_a_handler_that_has_ended_is_not_cut_off_by_a_stop(own_sidecar: list[Sidecar], queue: str) -> None:
    begun = asyncio.Event()
    stages: list[str] = []

    async def handle(_: Work) -> bytes:
        # Its Ack waits for an answer that does not come in the time of the stop.
        own_sidecar[0].pause()
        begun.set()
        return b"done"

    async with keyturn.aio.connect(own_sidecar[0].address, session_ttl=60) as client:
        submitted = await client.submit(queue, NewItem(b"1"))
        consumer = client.consume(queue, handle, on_error=lambda trouble: stages.append(trouble.stage))
        await begun.wait()
        stopped = asyncio.ensure_future(consumer.stop(0))
        await asyncio.wait((stopped,), timeout=10)
        own_sidecar[0].resume()
        assert await stopped
        assert await client.result(queue, submitted.item_id, timeout=30) == b"done"
    assert stages == []
