"""Items: submitting, results, consumers, producers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextvars import ContextVar
from pathlib import Path

import pytest

import keyturn
from keyturn import Done, FollowUp, ItemRef, NewItem, done
from keyturn.aio import Client, Work
from tests.sidecar import Sidecar


async def test_a_result_is_what_the_handler_returned(aclient: Client, queue: str) -> None:
    async def handle(work: Work) -> bytes:
        return work.item.payload.upper()

    async with aclient.consume(queue, handle, concurrency=4):
        submitted = await aclient.submit(queue, NewItem(b"ada", key="a", headers={"x": "1"}))
        assert await aclient.result(queue, submitted.item_id) == b"ADA"


async def test_each_key_is_handled_in_order_and_never_twice_at_once(aclient: Client, queue: str) -> None:
    seen: dict[str, list[int]] = {}
    busy: set[str] = set()
    all_done = asyncio.Event()

    async def handle(work: Work) -> None:
        assert work.key not in busy
        busy.add(work.key)
        await asyncio.sleep(0)
        seen.setdefault(work.key, []).extend(int(item.payload) for item in work.items)
        busy.remove(work.key)
        if sum(map(len, seen.values())) == 2_000:
            all_done.set()

    items = [NewItem(b"%d" % n, key=str(n % 20)) for n in range(2_000)]
    assert len(await aclient.submit_many(queue, items)) == 2_000
    consumer = aclient.consume(queue, handle, concurrency=16, max_items_per_turn=3)
    await asyncio.wait_for(all_done.wait(), 30)
    await consumer.stop()
    assert all(numbers == sorted(numbers) and len(numbers) == 100 for numbers in seen.values())


async def test_what_a_handler_sets_in_its_context_is_nothing_to_the_next(aclient: Client, queue: str) -> None:
    who = ContextVar("who", default="nobody")
    told: list[str] = []

    async def nothing() -> None:
        return

    def handle(_: Work) -> Awaitable[None]:
        # As a decorator may, before there is a task.
        told.append(who.get())
        who.set("a handler")
        return nothing()

    who.set("the application")
    submitted = await aclient.submit_many(queue, [NewItem(b"", key=str(n)) for n in range(5)])
    async with aclient.consume(queue, handle):
        for one in submitted:
            await aclient.result(queue, one.item_id)
    assert told == ["the application"] * 5


async def test_what_a_handler_raises_decides(aclient: Client) -> None:
    troubles: list[str] = []

    async def handle(work: Work) -> Done | None:
        if work.item.payload == b"retry" and work.attempt == 1:
            raise keyturn.RetryLater(0.01)
        if work.item.payload == b"never":
            raise keyturn.DeadLetter("no good")
        if work.item.payload == b"bug":
            raise ValueError("it is broken")
        mail = NewItem(b"mail", item_id=f"mail-{work.item.item_id}")
        return done(b"%d" % work.attempt, follow_ups=[FollowUp("fast-mails", mail)])

    consumer = aclient.consume("fast", handle, concurrency=3, on_error=lambda trouble: troubles.append(trouble.stage))
    retried, never, bug = [await aclient.submit("fast", NewItem(p)) for p in (b"retry", b"never", b"bug")]
    assert await aclient.result("fast", retried.item_id) == b"2"
    follow_up = await aclient.await_item("fast-mails", f"mail-{retried.item_id}")
    assert follow_up.state == "waiting"
    for one, why in ((never, "no good"), (bug, "it is broken")):
        with pytest.raises(keyturn.ItemFailedError, match=why) as failed:
            await aclient.result("fast", one.item_id)
        assert failed.value.state == "dead"
    await consumer.stop()
    assert set(troubles) == {"handler", "dead_letter"}


async def test_a_handler_whose_turn_is_lost_is_cancelled_and_settles_nothing(aclient: Client, queue: str) -> None:
    begun = asyncio.Event()
    told: asyncio.Future[keyturn.Trouble[Work]] = asyncio.get_running_loop().create_future()

    async def handle(work: Work) -> bytes:
        if work.attempt == 1 and not begun.is_set():
            begun.set()
            await asyncio.sleep(30)
        return b"second"

    def on_error(trouble: keyturn.Trouble[Work]) -> None:
        if not told.done():
            told.set_result(trouble)

    async with aclient.consume(queue, handle, on_error=on_error):
        submitted = await aclient.submit(queue, NewItem(b"1", key="a"))
        await begun.wait()
        await aclient.admin.evict_holder(queue, "a")
        trouble = await told
        assert trouble.stage == "turn_lost"
        assert await aclient.result(queue, submitted.item_id) == b"second"


async def test_a_stop_that_runs_out_releases_without_counting_an_attempt(aclient: Client, queue: str) -> None:
    begun = asyncio.Event()

    async def handle(_: Work) -> None:
        begun.set()
        await asyncio.sleep(30)

    consumer = aclient.consume(queue, handle)
    submitted = await aclient.submit(queue, NewItem(b"1", key="a"))
    await begun.wait()
    await consumer.stop(timeout=0)
    answer = await aclient.await_item(queue, submitted.item_id)
    assert (answer.state, answer.attempt) == ("waiting", 0)


async def test_a_consumer_that_cannot_go_on_says_why(aclient: Client) -> None:
    async def handle(_: Work) -> None:
        return None

    with pytest.raises(keyturn.KeyturnError) as refused:
        await aclient.consume("no such name!", handle)
    assert refused.value.code == "INVALID_ARGUMENT"


async def test_a_consumer_goes_on_with_a_sidecar_that_begins_anew(own_sidecar: list[Sidecar]) -> None:
    async with keyturn.aio.connect(own_sidecar[0].address) as client:

        async def handle(work: Work) -> bytes:
            return work.item.payload

        client.consume("orders", handle, concurrency=2)
        first = await client.submit("orders", NewItem(b"1"))
        assert await client.result("orders", first.item_id) == b"1"
        own_sidecar.append(own_sidecar[0].restarted())
        second = await client.submit("orders", NewItem(b"2"), timeout=20)
        assert await client.result("orders", second.item_id) == b"2"


async def test_items_wait_for_those_that_they_name(aclient: Client, queue: str) -> None:
    first = await aclient.submit(queue, NewItem(b"1"))
    second = await aclient.submit(queue, NewItem(b"2", after=[ItemRef(queue, first.item_id)]))
    assert [one.items[0].payload for one in await aclient.acquire(queue, max_turns=5)] == [b"1"]
    assert (await aclient.await_item(queue, second.item_id)).state == "waiting"


async def test_wrong_items_are_named_before_anything_is_sent(aclient: Client, queue: str) -> None:
    with pytest.raises(keyturn.SubmitManyError, match=r"items\[1\]\.payload: is of type str"):
        await aclient.submit_many(queue, [NewItem(b"1"), NewItem("2")])  # type: ignore[arg-type]
    with pytest.raises(keyturn.KeyturnError, match=r"items\[0\]\.delay"):
        await aclient.submit(queue, NewItem(b"1", delay=-1))
    with pytest.raises(keyturn.SubmitManyError) as some:
        await aclient.submit_many("small", [NewItem(b"1")] * 1_001)
    assert len(some.value.results) + len(some.value.rest) == 1_001


async def test_a_result_that_does_not_come_in_time(aclient: Client, queue: str) -> None:
    submitted = await aclient.submit(queue, NewItem(b"1"))
    with pytest.raises(keyturn.KeyturnError) as late:
        await aclient.result(queue, submitted.item_id, timeout=0.05)
    assert late.value.code == "DEADLINE_EXCEEDED"
    with pytest.raises(keyturn.ItemFailedError) as unknown:
        await aclient.result(queue, "nobody")
    assert unknown.value.state == "unknown"


async def test_a_producer_hands_over_in_order_and_tells_each_item(aclient: Client, queue: str) -> None:
    async with aclient.producer(queue, count=100) as producer:
        added = []
        for number in range(1_000):
            await producer.ready()
            added.append(producer.add(NewItem(b"%d" % number, key="a")))
        await producer.flush()
        assert producer.pending == 0
    assert {one.result().decision for one in added} == {"accept"}
    deliveries = await aclient.acquire(queue, max_items_per_turn=1_000)
    assert [int(item.payload) for item in deliveries[0].items] == list(range(1_000))


async def test_a_producer_is_bounded_and_gives_up_in_time() -> None:
    async with keyturn.aio.connect("127.0.0.1:1") as client:
        producer = client.producer("q", max_items=2, when_full="error", timeout=0.2)
        added = [producer.add(NewItem(b"1")), producer.add(NewItem(b"2"))]
        with pytest.raises(keyturn.ProducerFullError):
            producer.add(NewItem(b"3"))
        for one in added:
            with pytest.raises(keyturn.ProducerTimeoutError):
                await one
        await producer.close()
        with pytest.raises(keyturn.ProducerClosedError):
            producer.add(NewItem(b"4"))


async def test_a_producer_refuses_wrong_items_alone(aclient: Client, queue: str) -> None:
    producer = aclient.producer(queue, count=3)
    good, bad, other = (
        producer.add(item) for item in (NewItem(b"1"), NewItem(b"2", idempotency_key="x" * 300), NewItem(b"3"))
    )
    assert [(await good).decision, (await other).decision] == ["accept", "accept"]
    with pytest.raises(keyturn.KeyturnError, match="idempotency_key"):
        await bad


async def test_a_spool_keeps_items_while_the_sidecar_is_away(own_sidecar: list[Sidecar], tmp_path: Path) -> None:
    errors: list[object] = []
    spool = keyturn.Spool(tmp_path / "spool", patience=0.2, interval=0.001)
    async with keyturn.aio.connect(own_sidecar[0].address) as client:
        producer = client.producer("e", spool=spool, on_error=lambda error, _: errors.append(error))
        assert (await producer.add(NewItem(b"0", key="a"))).decision == "accept"
        own_sidecar[0].kill()
        added = [producer.add(NewItem(b"%d" % number, key="a")) for number in range(1, 500)]
        assert {(await one).decision for one in added} == {"spooled"}
        other = client.producer("e", spool=spool, on_error=lambda *_: None)
        with pytest.raises(keyturn.SpoolError) as in_use:
            await other.ready()
        assert in_use.value.problem == "in_use"
        await other.close()
        await producer.close()
    # Another process, later: what is on disk is handed over before anything new, and the torn tail is told.
    last = max((tmp_path / "spool").glob("*.spool"))
    with last.open("ab") as file:
        file.write(b"KtP1\x00")
    own_sidecar.append(Sidecar(own_sidecar[0].address))
    async with keyturn.aio.connect(own_sidecar[0].address) as client:
        producer = client.producer("e", spool=spool, on_error=lambda error, _: errors.append(error))
        assert (await producer.add(NewItem(b"500", key="a"))).decision in ("accept", "spooled")
        got: list[int] = []
        while len(got) < 500:
            deliveries = await client.acquire("e", max_items_per_turn=1_000, wait=10)
            for turn, items in deliveries:
                got += [int(item.payload) for item in items]
                await client.ack(turn.queue, turn.key, turn.token)
        assert got == list(range(1, 501))
    assert [error.problem for error in errors if isinstance(error, keyturn.SpoolError)] == ["torn"]


async def test_a_damaged_spool_is_refused(tmp_path: Path, own_sidecar: list[Sidecar]) -> None:
    spool = keyturn.Spool(tmp_path, patience=0.1, interval=0.001)
    own_sidecar[0].kill()
    async with keyturn.aio.connect(own_sidecar[0].address) as client:
        producer = client.producer("e", spool=spool, on_error=lambda *_: None)
        for one in [producer.add(NewItem(b"%d" % number)) for number in range(3)]:
            assert (await one).decision == "spooled"
        await producer.close()
        file = sorted(tmp_path.glob("*.spool"))[0]  # noqa: ASYNC240
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 0xFF
        file.write_bytes(data)
        damaged = client.producer("e", spool=spool, on_error=lambda *_: None)
        with pytest.raises(keyturn.SpoolError) as refused:
            await damaged.ready()
        assert refused.value.problem == "damaged"
        await damaged.close()
        assert file.read_bytes() == bytes(data)
