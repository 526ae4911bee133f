"""The client for threads."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import keyturn
from keyturn import Client, NewItem, Work
from tests.looks import holder_of


def test_a_turn_is_a_scope(client: Client, key: str) -> None:
    with client.turn("orders", key) as turn:
        assert holder_of(client.admin.explain_key("orders", key)).token == turn.token
        with pytest.raises(keyturn.Blocked), client.turn("orders", key, wait=0):
            pytest.fail("somebody holds it")
    outcome = client.with_turn("orders", key, lambda turn: turn.token, wait=0)
    assert outcome.status == "done"
    assert (outcome.value or 0) > turn.token


def test_a_lost_turn_is_told_in_the_block_and_raised_at_its_end(client: Client, key: str) -> None:
    told: list[BaseException] = []
    with pytest.raises(keyturn.TurnLostError) as lost, client.turn("orders", key) as turn:
        turn.on_stop(told.append)
        client.admin.evict_holder("orders", key)
        assert turn.stopping.wait(5)
        assert turn.lost
        with pytest.raises(keyturn.TurnLostError):
            turn.check()
    assert lost.value.cause == "evicted"
    assert [type(one) for one in told] == [keyturn.TurnLostError]


def test_max_hold_is_told(client: Client, key: str) -> None:
    with pytest.raises(keyturn.HoldTimeoutError), client.turn("orders", key, max_hold=0.05) as turn:
        assert turn.stopping.wait(5)
        assert not turn.lost
        turn.check()


def test_handlers_run_in_threads(client: Client, queue: str) -> None:
    together = threading.Barrier(4, timeout=10)

    def handle(work: Work) -> bytes:
        together.wait()
        return work.item.payload + b" done"

    with client.consume(queue, handle, concurrency=4):
        submitted = client.submit_many(queue, [NewItem(b"%d" % n, key=str(n)) for n in range(4)])
        results = [client.result(queue, one.item_id, timeout=10) for one in submitted]
    assert results == [b"0 done", b"1 done", b"2 done", b"3 done"]


def test_what_a_handler_raises_decides(client: Client) -> None:
    def handle(work: Work) -> None:
        if work.attempt == 1:
            raise keyturn.RetryLater(0.01)
        raise keyturn.DeadLetter("twice")

    with client.consume("fast", handle):
        submitted = client.submit("fast", NewItem(b"1"))
        with pytest.raises(keyturn.ItemFailedError, match="twice") as failed:
            client.result_future("fast", submitted.item_id).result(10)
        assert failed.value.attempt == 2


def test_a_stop_that_runs_out_tells_the_handler(client: Client, queue: str) -> None:
    begun = threading.Event()
    told: list[BaseException | None] = []

    def handle(work: Work) -> None:
        begun.set()
        assert work.stopping.wait(10)
        try:
            work.check()
        except keyturn.ConsumerStoppedError as error:
            told.append(error)
            raise

    consumer = client.consume(queue, handle)
    submitted = client.submit(queue, NewItem(b"1"))
    assert begun.wait(10)
    assert not consumer.wait(timeout=0.01)
    consumer.stop(timeout=0)
    assert len(told) == 1
    assert client.await_item(queue, submitted.item_id).state == "waiting"


def test_a_client_may_be_used_from_all_threads(client: Client, queue: str) -> None:
    def pairs(key: str) -> int:
        last = 0
        for _ in range(50):
            answer = client.enqueue(queue, key)
            assert answer.turn is not None
            assert answer.turn.token > last
            last = answer.turn.token
            client.dequeue(queue, key, token=last)
        return last

    with ThreadPoolExecutor(16) as pool:
        tokens = list(pool.map(pairs, [str(n) for n in range(16)]))
    assert len(set(tokens)) == 16


def test_one_worker_at_a_time_among_threads(client: Client, queue: str) -> None:
    inside = 0
    most = 0

    def work(_: int) -> None:
        nonlocal inside, most
        with client.turn(queue, "one", order="strict", wait=60):
            inside += 1
            most = max(most, inside)
            inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(100)))
    assert most == 1


def test_a_producer_waits_for_room_and_flushes(client: Client, queue: str) -> None:
    with client.producer(queue, max_items=50, count=20) as producer:
        added = [producer.add(NewItem(b"%d" % n, key="a")) for n in range(500)]
        assert producer.flush(timeout=20)
        assert producer.pending == 0
    assert {one.result().decision for one in added} == {"accept"}


def test_a_producer_that_is_full_says_so() -> None:
    with keyturn.connect("127.0.0.1:1") as client:
        producer = client.producer("q", max_items=1, when_full="error", timeout=0.2)
        added = producer.add(NewItem(b"1"))
        with pytest.raises(keyturn.ProducerFullError):
            producer.add(NewItem(b"2"))
        with pytest.raises(keyturn.ProducerTimeoutError):
            added.result(10)
        producer.close()


def test_a_call_that_was_begun_can_be_cancelled(client: Client, key: str) -> None:
    with client.turn("orders", key):
        future = client.begin(lambda: client.aio.enqueue("orders", key, wait=60))
        while client.admin.explain_key("orders", key).waiting == 0:
            pass
        assert future.cancel()
        while client.admin.explain_key("orders", key).waiting > 0:
            pass


def test_a_thread_that_waits_for_its_turn_can_be_called_off(client: Client, key: str) -> None:
    held = client.enqueue("orders", key)
    assert held.turn is not None
    scope = client.turn("orders", key, wait=60)
    with ThreadPoolExecutor() as threads:
        waits = threads.submit(scope.__enter__)
        while client.admin.explain_key("orders", key).waiting_callers == 0:
            assert not waits.done()
        scope.cancel()
        with pytest.raises(keyturn.KeyturnError, match="cancelled") as ended:
            waits.result(10)
    assert ended.value.code == "CANCELLED"
    assert client.admin.explain_key("orders", key).waiting_callers == 0
    client.dequeue("orders", key, token=held.turn.token)
    # Too early and too late.
    early = client.turn("orders", key)
    early.cancel()
    with pytest.raises(keyturn.KeyturnError, match="cancelled"):
        early.__enter__()
    with client.turn("orders", key) as turn:
        turn.cancel()
        turn.check()


def test_raw_turns_are_held_and_told(client: Client, key: str) -> None:
    asked_at = client.now()
    answer = client.enqueue("short", key, lease=0.3)
    assert answer.turn is not None
    held = client.hold(answer.turn, asked_at)
    client.admin.evict_holder("short", key)
    assert held.stopping.wait(5)
    assert held.lost
    held.release()


def test_no_thread_is_left_after_close(address: str, queue: str) -> None:
    before = set(threading.enumerate())
    client = keyturn.connect(address)
    client.consume(queue, lambda _: None, concurrency=5)
    client.submit_many(queue, [NewItem(b"1", key=str(n)) for n in range(20)])
    client.close()
    client.close()
    assert set(threading.enumerate()) <= before
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        client.enqueue(queue, "k")


def test_a_callback_must_not_wait_for_its_client(client: Client, key: str) -> None:
    told: list[BaseException] = []
    done = threading.Event()

    def callback(_: BaseException) -> None:
        try:
            client.enqueue("orders", key)
        except RuntimeError as error:
            told.append(error)
        done.set()

    with pytest.raises(keyturn.TurnLostError), client.turn("orders", key) as turn:
        turn.on_stop(callback)
        client.admin.evict_holder("orders", key)
        assert done.wait(5)
    assert "another thread" in str(told[0])


def test_a_program_that_forgets_to_close_ends_all_the_same(address: str, queue: str) -> None:
    program = (
        "import keyturn, sys\n"
        "client = keyturn.connect(sys.argv[1])\n"
        "client.consume(sys.argv[2], lambda work: None)\n"
        "print(client.submit(sys.argv[2], keyturn.NewItem(b'1')).decision)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, address, queue], capture_output=True, text=True, timeout=30, check=True
    )
    assert ended.stdout == "accept\n"
