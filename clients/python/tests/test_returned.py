"""What a handler returns is the result of its items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import keyturn
from keyturn import NewItem, Work
from keyturn.aio import Client


@pytest.mark.parametrize(
    ("returned", "result"),
    [
        (None, None),
        (b"bytes", b"bytes"),
        (bytearray(b"bytes"), b"bytes"),
        (5, b"5"),
        (True, b"true"),
        ("resized", b'"resized"'),
        ({"result": 1, "follow_ups": []}, b'{"result":1,"follow_ups":[]}'),
        (["ü"], '["ü"]'.encode()),
        (keyturn.done({"n": 1}), b'{"n":1}'),
    ],
)
async def test_what_is_returned_is_the_result(aclient: Client, queue: str, returned: object, result: bytes | None) -> None:
    async def handle(_: keyturn.aio.Work) -> object:
        return returned

    consumer = aclient.consume(queue, handle)
    submitted = await aclient.submit(queue, NewItem(b"1"))
    assert await aclient.result(queue, submitted.item_id, timeout=10) == result
    await consumer.stop()


@pytest.mark.parametrize("returned", [{1, 2}, object(), float("nan"), Path("/tmp")])
async def test_what_json_cannot_say_is_ignored_with_one_warning(
    aclient: Client, queue: str, returned: object, caplog: pytest.LogCaptureFixture
) -> None:
    attempts: list[int] = []

    async def handle(work: keyturn.aio.Work) -> object:
        attempts.append(work.attempt)
        return returned

    consumer = aclient.consume(queue, handle)
    for _ in range(2):
        submitted = await aclient.submit(queue, NewItem(b"1"))
        assert await aclient.result(queue, submitted.item_id, timeout=10) is None
    await consumer.stop()
    assert attempts == [1, 1]
    assert len([record for record in caplog.records if "is no result" in record.message]) == 1


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        (bytes(1_048_577), "the result takes 1048577 bytes; at most 1048576"),
        (
            keyturn.done(follow_ups=[keyturn.FollowUp("q", NewItem(bytes(1_000_000))) for _ in range(4)]),
            "the result and the follow-ups take 4000000 bytes; at most 3500000 fit into one Ack",
        ),
    ],
)
async def test_what_is_too_large_is_a_dead_letter_at_once(aclient: Client, queue: str, returned: object, why: str) -> None:
    attempts: list[int] = []

    async def handle(work: keyturn.aio.Work) -> object:
        attempts.append(work.attempt)
        return returned

    consumer = aclient.consume(queue, handle)
    submitted = await aclient.submit(queue, NewItem(b"1"))
    with pytest.raises(keyturn.ItemFailedError, match=why):
        await aclient.result(queue, submitted.item_id, timeout=10)
    await consumer.stop()
    assert attempts == [1]


async def test_a_failed_attempt_is_logged_with_its_traceback(
    aclient: Client, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(work: keyturn.aio.Work) -> None:
        if work.attempt == 1:
            raise ZeroDivisionError

    consumer = aclient.consume(queue, handle)
    submitted = await aclient.submit(queue, NewItem(b"1"))
    await aclient.result(queue, submitted.item_id, timeout=10)
    await consumer.stop()
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]


async def test_on_error_may_raise_and_the_consumer_goes_on(
    aclient: Client, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(work: keyturn.aio.Work) -> bytes:
        if work.attempt == 1:
            raise ZeroDivisionError
        return b"second"

    def fails(_: object) -> None:
        raise LookupError

    consumer = aclient.consume(queue, handle, on_error=fails)
    submitted = await aclient.submit(queue, NewItem(b"1"))
    assert await aclient.result(queue, submitted.item_id, timeout=10) == b"second"
    await consumer.stop()
    assert any("on_error" in record.message for record in caplog.records)


def test_a_coroutine_function_is_refused_by_the_client_with_threads(client: keyturn.Client, queue: str) -> None:
    async def handle(_: Work) -> None: ...

    anything: Any = handle
    with pytest.raises(keyturn.WrongArgumentError, match="an async def; needed is a plain function"):
        client.consume(queue, anything)


class UnsayableError(Exception):
    """It has no text."""

    def __str__(self) -> str:
        raise LookupError


class BadItems(dict[str, int]):
    """JSON cannot read it."""

    def items(self) -> Any:
        raise KeyError


async def test_whatever_is_raised_or_returned_the_turn_is_settled(aclient: Client, queue: str) -> None:
    tuples: Any = [("mails", NewItem(b"x"))]
    attempts: dict[bytes, int] = {}

    async def handle(work: keyturn.aio.Work) -> object:
        what = work.item.payload
        attempts[what] = attempts.get(what, 0) + 1
        if work.attempt > 1:
            return b"second"
        if what == b"raises":
            raise UnsayableError
        if what == b"tuples":
            return keyturn.done(follow_ups=tuples)
        if what == b"released":
            view = memoryview(b"gone")
            view.release()
            return view
        return BadItems(a=1)

    async with aclient.consume(queue, handle):
        for what, result in ((b"raises", b"second"), (b"tuples", b"second"), (b"released", None), (b"items", None)):
            submitted = await aclient.submit(queue, NewItem(what, key="k"))
            assert await aclient.result(queue, submitted.item_id, timeout=15) == result
    assert attempts == {b"raises": 2, b"tuples": 2, b"released": 1, b"items": 1}


async def test_too_many_follow_ups_and_headers_are_dead_letters_at_once(aclient: Client, queue: str) -> None:
    one = keyturn.FollowUp("q", NewItem(b"x", headers={"h": "x" * 6_000}))

    async def handle(work: keyturn.aio.Work) -> object:
        return keyturn.done(follow_ups=[one] * (1_001 if work.item.payload == b"many" else 1_000))

    async with aclient.consume(queue, handle):
        for what, why in ((b"many", "there are 1001 follow-ups"), (b"large", "fit into one Ack")):
            submitted = await aclient.submit(queue, NewItem(what))
            with pytest.raises(keyturn.ItemFailedError, match=why):
                await aclient.result(queue, submitted.item_id, timeout=10)
