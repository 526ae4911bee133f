"""What a program does to the client for threads that it should not, or at a bad moment."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

import pytest

import keyturn
from keyturn import Client, NewItem, Work


@pytest.mark.parametrize("last_words", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), StopIteration()])
def test_a_handler_that_wants_to_end_the_program_ends_its_attempt_alone(client: Client, last_words: BaseException) -> None:
    troubles: list[keyturn.Trouble[Work]] = []

    def handle(work: Work) -> bytes:
        if work.attempt == 1:
            raise last_words
        return b"second"

    with client.consume("fast", handle, on_error=troubles.append):
        submitted = client.submit("fast", NewItem(b"1"))
        assert client.result("fast", submitted.item_id, timeout=10) == b"second"
    assert type(last_words).__name__ in str(troubles[0].error)


def test_a_callback_that_wants_to_end_the_program_leaves_the_client_alone(client: Client, key: str) -> None:
    with pytest.raises(keyturn.TurnLostError), client.turn("orders", key) as turn:
        turn.on_stop(lambda _: sys.exit(1))
        client.admin.evict_holder("orders", key)
        assert turn.stopping.wait(5)
    assert client.enqueue("orders", key).decision == "accept"


@pytest.mark.parametrize("wrong", ["text", b"x" * 1_048_577])
def test_a_result_that_is_refused_does_not_keep_the_turn(client: Client, key: str, wrong: Any) -> None:
    with pytest.raises(keyturn.KeyturnError), client.turn("orders", key) as turn:
        turn.result = wrong
    assert client.enqueue("orders", key, wait=0).decision == "accept"


def test_a_client_that_is_closed_in_the_block_has_lost_its_turn(address: str, key: str) -> None:
    client = keyturn.connect(address)
    with pytest.raises(keyturn.TurnLostError) as lost, client.turn("orders", key):
        client.close()
    assert lost.value.cause == "closed"
    client = keyturn.connect(address)
    with pytest.raises(keyturn.TurnLostError, match="ZeroDivisionError"), client.turn("orders", f"{key}-2"):
        client.close()
        raise ZeroDivisionError


def test_what_a_closed_client_made_may_be_ended_all_the_same(address: str, queue: str, key: str) -> None:
    client = keyturn.connect(address)
    consumer = client.consume(queue, lambda _: None)
    producer = client.producer(queue)
    answer = client.enqueue("orders", key)
    assert answer.turn is not None
    held = client.hold(answer.turn, client.now())
    client.close()
    consumer.stop()
    assert consumer.wait()
    producer.close()
    assert producer.flush()
    held.release()
    with pytest.raises(keyturn.ProducerClosedError):
        producer.add(NewItem(b"1"))


def test_a_closed_client_keeps_nothing_of_consumers_that_ended(client: Client, queue: str) -> None:
    for _ in range(3):
        client.consume(queue, lambda _: None).stop()
    assert not client._threads


def test_a_second_close_returns_when_nothing_is_left(address: str, queue: str) -> None:
    client = keyturn.connect(address)
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def handle(_: Work) -> None:
        begun.set()
        may_end.wait(10)
        ended.set()

    client.consume(queue, handle)
    client.submit(queue, NewItem(b"1"))
    assert begun.wait(10)
    first = threading.Thread(target=client.close)
    first.start()
    second = threading.Thread(target=client.close)
    second.start()
    may_end.set()
    second.join(10)
    assert ended.is_set()
    first.join(10)
    assert not any(thread.is_alive() for thread in (first, second))


@pytest.mark.parametrize(
    "wait",
    [
        lambda client, _: client.close(),
        lambda client, _: client.result("orders", "nobody"),
        lambda _, producer: producer.flush(),
        lambda _, producer: producer.close(),
    ],
)
def test_a_callback_must_not_wait_in_any_way(client: Client, key: str, wait: Callable[[Client, Any], object]) -> None:
    told: list[BaseException] = []
    done = threading.Event()
    producer = client.producer("orders")

    def callback(_: BaseException) -> None:
        try:
            wait(client, producer)
        except RuntimeError as error:
            told.append(error)
        done.set()

    with pytest.raises(keyturn.TurnLostError), client.turn("orders", key) as turn:
        turn.on_stop(callback)
        client.admin.evict_holder("orders", key)
        assert done.wait(5)
    assert "another thread" in str(told[0])


def test_a_handler_must_not_wait_for_itself(client: Client, queue: str) -> None:
    told: list[str] = []

    def handle(_: Work) -> bytes:
        for wait in (consumer.stop, consumer.wait, client.close):
            with pytest.raises(RuntimeError) as error:
                wait()
            told.append(str(error.value))
        return b"done"

    consumer = client.consume(queue, handle)
    submitted = client.submit(queue, NewItem(b"1"))
    assert client.result(queue, submitted.item_id, timeout=10) == b"done"
    assert all("another thread" in one for one in told)
    assert len(told) == 3
    consumer.stop()


def test_a_turn_that_comes_as_the_wait_for_it_is_interrupted_is_given_back(
    client: Client, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = client._thread.begin

    def interrupted(make: Callable[[], Awaitable[object]]) -> Future[Any]:
        future = begin(make)
        future.exception(10)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(client._thread, "begin", interrupted)
        turn = client.turn("orders", key)
        with pytest.raises(KeyboardInterrupt):
            turn.__enter__()
    with client.turn("orders", key, wait=5):
        pass


def test_a_client_that_is_forgotten_says_so_and_ends(address: str, key: str) -> None:
    client = keyturn.connect(address)
    client.enqueue("orders", key)
    thread = client._thread._thread
    with pytest.warns(ResourceWarning, match="was not closed"):
        del client
        gc.collect()
    thread.join(10)
    assert not thread.is_alive()


def test_what_is_in_use_keeps_its_client(address: str, queue: str, key: str) -> None:
    client = keyturn.connect(address)
    users: list[Any] = [client.consume(queue, lambda _: None), client.producer(queue), client.turn("orders", key)]
    known = weakref.ref(client)
    del client
    while users:
        gc.collect()
        assert known() is not None
        if len(users) == 1:
            with users[0]:
                pass
            still = known()
            assert still is not None
            still.close()
            del still
        users.pop(0)
    gc.collect()
    assert known() is None
