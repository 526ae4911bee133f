"""Code for which the client waits when it is closed cannot close it: that is refused, and nothing is closed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import keyturn
from keyturn import NewItem

REFUSED = "let another|use another"
# Below the 20 s after which a handler that waits is cut off.
SOON = 10


class Refused:
    """What `close` raised, once somebody has called it."""

    def __init__(self, close: Callable[[], object]) -> None:
        self._close = close
        self._errors: list[BaseException | None] = []
        self._called = threading.Event()

    def call(self, *_: object) -> None:
        try:
            self._close()
            self._errors.append(None)
        except BaseException as error:
            self._errors.append(error)
        self._called.set()

    def check(self) -> None:
        assert self._called.wait(SOON)
        assert isinstance(self._errors[0], RuntimeError)
        assert any(words in str(self._errors[0]) for words in REFUSED.split("|"))


class Leads:
    def __init__(self, in_phase: str, told: Callable[[], object]) -> None:
        self._in_phase = in_phase
        self._told = told

    def inaugurate(self, _: keyturn.Term) -> None:
        self._in("inaugurate")

    def execute(self, _: keyturn.Term) -> None:
        self._in("execute")

    def hand_over(self, _: keyturn.Term, __: str) -> None:
        self._in("hand_over")

    def _in(self, phase: str) -> None:
        if phase == self._in_phase:
            self._told()


def in_a_handler(client: keyturn.Client, queue: str, close: Refused) -> None:
    client.consume(queue, close.call)
    client.submit(queue, NewItem(b"1"))


def in_on_error_of_a_consumer(client: keyturn.Client, queue: str, close: Refused) -> None:
    def fails(_: object) -> None:
        raise keyturn.DeadLetter("no")

    client.consume(queue, fails, on_error=close.call)
    client.submit(queue, NewItem(b"1"))


def in_on_error_of_a_producer(client: keyturn.Client, queue: str, close: Refused) -> None:
    producer = client.producer(queue, on_error=close.call, timeout=0.01, interval=1)
    producer.add(NewItem(b"1"))


def in_a_phase(phase: str) -> Callable[[keyturn.Client, str, Refused], None]:
    def begin(client: keyturn.Client, queue: str, close: Refused) -> None:
        client.lead(queue, Leads(phase, close.call), once=True)

    return begin


PLACES = {
    "a handler": in_a_handler,
    "on_error of a consumer": in_on_error_of_a_consumer,
    "on_error of a producer": in_on_error_of_a_producer,
    **{phase: in_a_phase(phase) for phase in ("inaugurate", "execute", "hand_over")},
}


@pytest.mark.parametrize("place", PLACES)
def test_a_client_is_not_closed_inside_what_it_waits_for(address: str, queue: str, place: str) -> None:
    client = keyturn.connect(address)
    close = Refused(client.close)
    PLACES[place](client, queue, close)
    close.check()
    # It was not closed, and can be by others.
    assert client.submit(f"{queue}-next", NewItem(b"1")).decision == "accept"
    client.close()


def test_a_producer_that_was_not_closed_by_its_own_callback_goes_on(client: keyturn.Client, queue: str) -> None:
    closed: list[Refused] = []

    def on_error(*_: object) -> None:
        closed[0].call()

    producer = client.producer(queue, on_error=on_error)
    closed.append(Refused(producer.close))
    with pytest.raises(keyturn.KeyturnError):
        producer.add(NewItem(b"1", key="x" * 2_000)).result(SOON)
    closed[0].check()
    assert producer.add(NewItem(b"1")).result(SOON).decision == "accept"


async def test_a_handler_with_asyncio_does_not_close_its_client(address: str, queue: str) -> None:
    client = keyturn.aio.connect(address)
    other = keyturn.aio.connect(address)

    async def handle(_: keyturn.aio.Work) -> bytes:
        with pytest.raises(RuntimeError, match="let another task"):
            await client.close()
        await other.close()
        return b"done"

    client.consume(queue, handle)
    submitted = await client.submit(queue, NewItem(b"1"))
    assert await asyncio.wait_for(client.result(queue, submitted.item_id), SOON) == b"done"
    await client.close()


@pytest.mark.parametrize("phase", ["inaugurate", "execute", "hand_over"])
async def test_a_leader_with_asyncio_does_not_close_its_client(address: str, queue: str, phase: str) -> None:
    client = keyturn.aio.connect(address)
    refused: list[str] = []

    async def closes(*_: Any) -> None:
        with pytest.raises(RuntimeError) as error:
            await client.close()
        refused.append(str(error.value))

    async def nothing(*_: Any) -> None:
        return None

    class Career:
        inaugurate = execute = hand_over = staticmethod(nothing)

    setattr(Career, phase, staticmethod(closes))
    await asyncio.wait_for(client.lead(queue, Career(), once=True), SOON)
    assert "let another task" in refused[0]
    assert (await client.submit(queue, NewItem(b"1"))).decision == "accept"
    await client.close()


async def test_a_task_that_a_handler_began_may_close_its_client(address: str, queue: str) -> None:
    client = keyturn.aio.connect(address)
    closing: list[asyncio.Task[None]] = []

    async def handle(_: keyturn.aio.Work) -> None:
        closing.append(asyncio.ensure_future(client.close()))

    consumer = client.consume(queue, handle)
    await client.submit(queue, NewItem(b"1"))
    await asyncio.wait_for(consumer, SOON)
    await asyncio.wait_for(closing[0], SOON)
