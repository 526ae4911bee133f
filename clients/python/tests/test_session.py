"""One session: its calls, the streams it takes, what it leaves behind."""

from __future__ import annotations

import asyncio

import pytest

import keyturn
from keyturn.aio import Client
from tests.sidecar import Sidecar


async def test_a_call_ends_with_its_time_out_where_nothing_listens() -> None:
    async with keyturn.aio.connect("127.0.0.1:1") as client:
        with pytest.raises(keyturn.KeyturnError) as late:
            await client.enqueue("orders", "k", timeout=0.2)
        assert late.value.code == "DEADLINE_EXCEEDED"


async def test_open_calls_are_bounded(address: str, key: str) -> None:
    async with keyturn.aio.connect(address, open_commands=2) as client, client.turn("orders", key):
        waiting = [client.enqueue("orders", f"{key}", wait=20, ticket=str(n)) for n in range(3)]
        with pytest.raises(keyturn.KeyturnError, match="open_commands"):
            await waiting[2]
        for call in waiting[:2]:
            call.leave()


async def test_a_session_that_is_replaced_ends_for_good(address: str, key: str) -> None:
    older = keyturn.aio.connect(address, session_id=key)
    with pytest.raises(keyturn.TurnLostError) as lost:
        async with older.turn("orders", key), keyturn.aio.connect(address, session_id=key) as newer:
            await newer.enqueue("orders", f"{key}-2")
            await asyncio.sleep(30)
    assert lost.value.cause == "replaced"
    with pytest.raises(keyturn.KeyturnError) as ended:
        await older.enqueue("orders", key)
    assert ended.value.reason == "SESSION_REPLACED"
    await older.close()


async def test_open_calls_are_sent_again_to_a_sidecar_that_begins_anew(own_sidecar: list[Sidecar]) -> None:
    async with keyturn.aio.connect(own_sidecar[0].address, session_ttl=30) as client:
        first = await client.enqueue("orders", "ada")
        assert first.turn is not None
        own_sidecar[0].kill()
        waiting = client.enqueue("orders", "bob", wait=10, ticket="t", timeout=20)
        submitted = client.submit_batch("mails", [keyturn.NewItem(b"1")], timeout=20)
        own_sidecar.append(Sidecar(own_sidecar[0].address))
        answer = await waiting
        assert answer.decision == "accept"
        assert (await submitted)[0].decision == "accept"


async def test_a_turn_is_lost_in_time_when_the_sidecar_is_gone(own_sidecar: list[Sidecar]) -> None:
    loop = asyncio.get_running_loop()
    async with keyturn.aio.connect(own_sidecar[0].address, session_ttl=1.0, margin=0.3) as client:
        with pytest.raises(keyturn.TurnLostError) as lost:
            async with client.turn("orders", "ada"):
                own_sidecar[0].kill()
                killed = loop.time()
                await asyncio.sleep(30)
        assert lost.value.cause == "unreachable"
        # Its life was proved before the kill: ttl minus margin after that it is over at the latest.
        assert loop.time() - killed < 1.0


async def test_nothing_is_left_after_close(address: str, key: str) -> None:
    client = keyturn.aio.connect(address)
    client.consume(f"c-{key}", handle, concurrency=3)
    producer = client.producer(f"p-{key}")
    added = producer.add(keyturn.NewItem(b"1"))
    await client.close()
    assert (await added).decision == "accept"
    assert asyncio.all_tasks() == {asyncio.current_task()}
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        await client.enqueue("orders", key)
    await client.close()


async def handle(_: keyturn.aio.Work) -> None:
    return None


async def test_metrics_are_told(address: str, key: str) -> None:
    told: list[tuple[object, ...]] = []

    class Counts:
        def call_done(self, method: str, code: str, seconds: float) -> None:
            assert seconds >= 0
            told.append((method, code))

        def turn_granted(self, queue: str) -> None:
            told.append(("granted", queue))

        def turn_lost(self, queue: str, cause: keyturn.TurnLoss) -> None:
            told.append(("lost", queue, cause))

        def reconnected(self) -> None:
            told.append(("reconnected",))

    async with keyturn.aio.connect(address, metrics=Counts()) as client:
        with pytest.raises(keyturn.TurnLostError):
            async with client.turn("orders", key):
                await client.admin.evict_holder("orders", key)
                await asyncio.sleep(30)
    assert told[:2] == [("granted", "orders"), ("enqueue", "OK")]
    assert ("lost", "orders", "evicted") in told


async def test_calls_asked_together_travel_together(aclient: Client, queue: str) -> None:
    answers = await asyncio.gather(*(aclient.enqueue(queue, str(n)) for n in range(5_000)))
    tokens = [answer.turn.token for answer in answers if answer.turn is not None]
    assert len(tokens) == 5_000
    assert sorted(tokens) == tokens
    ends = await asyncio.gather(*(aclient.dequeue(queue, str(n), token=tokens[n]) for n in range(5_000)))
    assert all(end.waiting == 0 for end in ends)
