"""What an application hands in may raise: nobody else suffers for it."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import keyturn
from keyturn import NewItem
from keyturn._words.log import SafeLog, log
from keyturn.aio import Client


def fails(*_: object) -> None:
    raise ZeroDivisionError


async def test_who_is_told_of_a_lost_turn_may_raise(address: str, key: str, caplog: pytest.LogCaptureFixture) -> None:
    client = keyturn.aio.connect(address)
    told: list[keyturn.TurnLostError] = []
    for number, callback in enumerate((fails, told.append)):
        asked_at = client.now()
        answer = await client.enqueue("orders", f"{key}-{number}")
        assert answer.turn is not None
        client.hold(answer.turn, asked_at).on_lost(callback)
    await client.close()
    assert [one.cause for one in told] == ["closed"]
    assert [record.message for record in caplog.records if record.exc_info] == ["a callback of on_lost raised"]


async def test_metrics_that_raise_break_nothing(address: str, key: str, caplog: pytest.LogCaptureFixture) -> None:
    class Fails:
        call_done = turn_granted = turn_lost = reconnected = staticmethod(fails)

    metrics: Any = Fails()
    async with keyturn.aio.connect(address, metrics=metrics) as client:
        for _ in range(2):
            async with client.turn("orders", key):
                pass
    assert [record.levelname for record in caplog.records] == ["ERROR"]


@pytest.mark.parametrize("transport", ["session", "unary"])
async def test_metrics_are_told_of_calls_that_end_with_their_client(address: str, key: str, transport: Any) -> None:
    told: list[tuple[object, ...]] = []

    class Counts:
        def call_done(self, method: str, code: str, seconds: float) -> None:
            told.append((method, code))

        turn_granted = turn_lost = reconnected = staticmethod(lambda *_: None)

    metrics: Any = Counts()
    client = keyturn.aio.connect(address, transport=transport, metrics=metrics)
    await client.enqueue("orders", key, lease=60)
    waiting = client.enqueue("orders", key, wait=60)
    while (await client.admin.explain_key("orders", key)).waiting == 0:
        pass
    await client.close()
    with pytest.raises(keyturn.KeyturnError):
        await waiting
    assert told == [("enqueue", "OK"), ("enqueue", "CANCELLED")]


async def test_a_handler_must_not_wait_for_itself(aclient: Client, queue: str) -> None:
    async def handle(_: keyturn.aio.Work) -> bytes:
        for wait in (consumer.stop, consumer.wait):
            with pytest.raises(RuntimeError, match="another task"):
                await wait()
        return b"done"

    consumer = aclient.consume(queue, handle)
    submitted = await aclient.submit(queue, NewItem(b"1"))
    assert await aclient.result(queue, submitted.item_id, timeout=10) == b"done"
    await consumer.stop()


async def test_a_handler_that_is_no_coroutine_function_is_told_so(aclient: Client) -> None:
    troubles: list[str] = []
    consumer = aclient.consume("fast", lambda _: None, on_error=lambda trouble: troubles.append(str(trouble.error)))  # type: ignore[arg-type, return-value]
    submitted = await aclient.submit("fast", NewItem(b"1"))
    with pytest.raises(keyturn.ItemFailedError):
        await aclient.result("fast", submitted.item_id)
    await consumer.stop()
    why = "the handler returned NoneType; needed is a coroutine: async def"
    assert set(troubles) == {why, f"it is a dead letter: {why}"}


@pytest.mark.parametrize("place", ["file", "lock", "gone/file/below"])
async def test_a_directory_that_cannot_be_used_is_told(tmp_path: Path, place: str) -> None:
    (tmp_path / "lock").mkdir()
    (tmp_path / "file").write_text("no directory")
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone/file").write_text("no directory")
    directory = {"file": tmp_path / "file", "lock": tmp_path}.get(place, tmp_path / place)
    async with keyturn.aio.connect("127.0.0.1:1") as client:
        producer = client.producer("e", spool=keyturn.Spool(directory), on_error=fails)
        added = producer.add(NewItem(b"1"))
        with pytest.raises(keyturn.SpoolError) as refused:
            await asyncio.wait_for(added, 5)
        assert refused.value.problem == "io"
        await asyncio.wait_for(producer.close(), 5)


class RaisingFilter(logging.Filter):
    def __init__(self, what: BaseException) -> None:
        super().__init__()
        self.what = what

    def filter(self, record: logging.LogRecord) -> bool:
        raise self.what


@pytest.fixture(params=[ZeroDivisionError(), SystemExit(3)], ids=["Exception", "SystemExit"])
def raising_log(request: pytest.FixtureRequest) -> Iterator[None]:
    logger = logging.getLogger("keyturn")
    raises = RaisingFilter(request.param)
    logger.addFilter(raises)
    yield
    logger.removeFilter(raises)


def once_failing() -> Callable[[Any], bytes]:
    def handle(work: Any) -> bytes:
        if work.attempt == 1:
            raise ValueError("once")
        return b"second"

    return handle


@pytest.mark.usefixtures("raising_log")
async def test_a_log_that_raises_leaves_no_turn_unsettled(aclient: Client) -> None:
    told: list[str] = []
    handle = once_failing()

    async def as_task(work: keyturn.aio.Work) -> bytes:
        return handle(work)

    consumer = aclient.consume("fast", as_task, on_error=lambda trouble: told.append(trouble.stage))
    submitted = await aclient.submit("fast", NewItem(b"1"))
    assert await aclient.result("fast", submitted.item_id, timeout=10) == b"second"
    await consumer.stop()
    assert told == ["handler"]


@pytest.mark.usefixtures("raising_log")
def test_a_log_that_raises_ends_no_thread_of_the_client(client: keyturn.Client) -> None:
    consumer = client.consume("fast", once_failing())
    for _ in range(2):
        submitted = client.submit("fast", NewItem(b"1"))
        assert client.result("fast", submitted.item_id, timeout=10) == b"second"
    consumer.stop()


@pytest.mark.usefixtures("raising_log")
def test_a_log_that_raises_without_stderr_writes_nowhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    SafeLog(logging.getLogger("keyturn")).warning("something")
    assert capsys.readouterr().out == ""


def test_a_record_names_the_place_that_logged_it(caplog: pytest.LogCaptureFixture) -> None:
    log.warning("%s", "here")
    assert (caplog.records[0].funcName, caplog.records[0].message) == (
        "test_a_record_names_the_place_that_logged_it",
        "here",
    )
