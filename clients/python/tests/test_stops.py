"""A consumer that is stopped, and what its handlers do meanwhile."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

import keyturn
from keyturn import NewItem
from keyturn.aio import Work
from tests.sidecar import Sidecar


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
