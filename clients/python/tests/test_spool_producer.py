"""Producers with a spool on a disk that fails."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from pathlib import Path

import pytest

import keyturn
from keyturn import ItemRef, NewItem, Spool, SpoolError
from keyturn._produce.spool import files as spool_module
from keyturn._produce.spool.store import Chunk, Store
from keyturn.aio import Client
from tests.sidecar import Sidecar

NOWHERE = "127.0.0.1:1"


async def taken(client: Client, queue: str, count: int) -> list[bytes]:
    got: list[bytes] = []
    while len(got) < count:
        for turn, items in await client.acquire(queue, max_turns=100, max_items_per_turn=1_000, wait=10):
            got += [item.payload for item in items]
            await client.ack(turn.queue, turn.key, turn.token)
    return got


@pytest.mark.parametrize(
    "error", [ValueError("embedded null byte"), UnicodeEncodeError("ascii", "x", 0, 1, "no"), MemoryError()]
)
async def test_whatever_opening_a_spool_raises_is_told_and_nobody_hangs(
    tmp_path: Path, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> Store:
        raise error

    monkeypatch.setattr(spool_module, "Store", fails)
    async with keyturn.aio.connect(NOWHERE) as client:
        producer = client.producer("e", spool=Spool(tmp_path), on_error=lambda *_: None)
        with pytest.raises(SpoolError, match="cannot be used"):
            await asyncio.wait_for(producer.add(NewItem(b"1")), 5)
        await asyncio.wait_for(producer.close(), 5)


async def test_what_was_handed_over_and_cannot_be_removed_is_told_and_the_replay_goes_on(
    own_sidecar: list[Sidecar], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Exception] = []
    address = own_sidecar[0].address
    own_sidecar[0].kill()
    async with keyturn.aio.connect(address) as client:
        spool = Spool(tmp_path, patience=0.1, interval=0.001, max_bytes=65_536)
        producer = client.producer("e", spool=spool, count=5, on_error=lambda error, _: told.append(error))
        # Several segments, of 8 KiB each.
        added = [producer.add(NewItem(b"%03d" % n + b"x" * 1_000, key="a")) for n in range(40)]
        assert {(await one).decision for one in added} == {"spooled"}
        unlink, failing = Path.unlink, [True, True, True]

        def fails(path: Path, missing_ok: bool = False) -> None:
            if path.suffix == ".spool" and failing:
                failing.pop()
                raise OSError(errno.EROFS, "read-only file system")
            unlink(path, missing_ok)

        monkeypatch.setattr(Path, "unlink", fails)
        own_sidecar.append(Sidecar(address))
        assert [payload[:3] for payload in await taken(client, "e", 40)] == [b"%03d" % n for n in range(40)]
        # All of it is gone at last, so that what comes goes straight.
        while (await producer.add(NewItem(b"last"))).decision != "accept":
            pass
    assert [error.problem for error in told if isinstance(error, SpoolError)] == ["io"] * len(told)
    assert 1 <= len(told) <= 3
    assert not list(tmp_path.glob("*.spool"))  # noqa: ASYNC240


async def test_items_behind_a_damaged_place_are_refused_and_not_told_spooled(
    own_sidecar: list[Sidecar], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = own_sidecar[0].address
    own_sidecar[0].kill()
    told: asyncio.Queue[Exception] = asyncio.Queue()

    def damaged(store: Store, most: int, size: int) -> Chunk | None:
        raise SpoolError("damaged", str(tmp_path), "damaged at byte 5")

    async with keyturn.aio.connect(address) as client:
        spool = Spool(tmp_path, patience=0.1, interval=0.001)
        producer = client.producer("e", spool=spool, on_error=lambda error, _: told.put_nowait(error))
        monkeypatch.setattr(Store, "read", damaged)
        added = producer.add(NewItem(b"1"))
        assert isinstance(await asyncio.wait_for(told.get(), 10), SpoolError)
        await asyncio.wait((added,))
        with pytest.raises(SpoolError, match="damaged at byte 5"):
            await asyncio.wait_for(producer.add(NewItem(b"2")), 10)


async def test_after_a_disk_that_failed_all_is_handed_over_and_the_spool_is_used_again(
    own_sidecar: list[Sidecar], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = own_sidecar[0].address
    own_sidecar[0].kill()
    async with keyturn.aio.connect(address) as client:
        spool = Spool(tmp_path, patience=0.1, interval=0.001)
        producer = client.producer("e", spool=spool, on_error=lambda *_: None, timeout=20)
        assert (await producer.add(NewItem(b"1", key="a"))).decision == "spooled"
        sync = os.fsync

        def fails(file: int) -> None:
            # The title of a segment is shorter.
            if stat.S_ISREG(os.fstat(file).st_mode) and os.fstat(file).st_size > 500:
                raise OSError(errno.EIO, "input/output error")

        monkeypatch.setattr(os, "fsync", fails)
        with pytest.raises(SpoolError, match="synced"):
            await producer.add(NewItem(b"2" * 500, key="a"))
        monkeypatch.setattr(os, "fsync", sync)
        own_sidecar.append(Sidecar(address))
        # It waits until all before it was handed over: nobody knows what is on disk.
        assert (await producer.add(NewItem(b"3", key="a"))).decision == "accept"
        # The second one may be on disk or not, as its error said.
        assert await taken(client, "e", 3) == [b"1", b"2" * 500, b"3"]
        own_sidecar[-1].kill()
        assert (await producer.add(NewItem(b"4", key="a"))).decision == "spooled"


async def test_items_for_a_full_queue_are_kept_on_disk_until_it_has_room(aclient: Client, tmp_path: Path) -> None:
    for payload in (b"1", b"2"):
        await aclient.submit("small", NewItem(payload, key="a"))
    producer = aclient.producer("small", spool=Spool(tmp_path, interval=0.001), on_error=print, timeout=5)
    for payload in (b"3", b"4"):
        assert (await producer.add(NewItem(payload, key="a"))).decision == "spooled"
    assert await taken(aclient, "small", 4) == [b"1", b"2", b"3", b"4"]


NEVER = {
    "payload": NewItem(b"x" * (2 << 20)),
    "key": NewItem(key="k" * 1_025),
    "item_id": NewItem(item_id="é" * 129),
    "idempotency_key": NewItem(idempotency_key="x" * 257),
    "headers": NewItem(headers={str(n): "" for n in range(65)}),
    "delay": NewItem(delay=31 * 86_400),
    "after[0].queue": NewItem(after=[ItemRef("a b", "x")]),
    "after[0].item_id": NewItem(after=[ItemRef("a", "")]),
    "after": NewItem(after=[ItemRef("a", "x")] * 2),
}


@pytest.mark.parametrize("field", NEVER)
async def test_a_spool_confirms_nothing_that_no_sidecar_would_accept(tmp_path: Path, field: str, address: str) -> None:
    async with keyturn.aio.connect(address) as client:
        producer = client.producer("e", spool=Spool(tmp_path), on_error=lambda *_: None)
        with pytest.raises(keyturn.KeyturnError) as refused:
            producer.add(NEVER[field])
        assert [one.field for one in refused.value.violations] == [f"items[0].{field}"]
        # The sidecar says the same.
        with pytest.raises(keyturn.KeyturnError) as by_sidecar:
            await client.submit("e", NEVER[field])
        assert [one.field.replace("after[1]", "after") for one in by_sidecar.value.violations] == [f"items[0].{field}"]


def test_a_spool_is_of_a_queue_that_there_can_be(client: keyturn.Client, tmp_path: Path) -> None:
    with pytest.raises(keyturn.WrongArgumentError, match="queue is 'a b'"):
        client.producer("a b", spool=Spool(tmp_path), on_error=print)
    producer = client.producer("e", spool=Spool(tmp_path), on_error=print)
    with pytest.raises(keyturn.KeyturnError, match="payload"):
        producer.add(NEVER["payload"])


async def test_what_its_caller_changes_after_an_item_was_added_is_not_sent(aclient: Client, queue: str) -> None:
    producer = aclient.producer(queue, interval=0.05)
    headers, after = {"n": "1"}, [ItemRef("e", "never")]
    added = producer.add(NewItem(b"1", headers=headers, after=after, after_unknown="wait"))
    headers["n"] = "2"
    after.clear()
    other = producer.add(NewItem(b"2", headers=headers))
    await producer.flush()
    (delivery,) = await aclient.acquire(queue, wait=5)
    assert (delivery.items[0].item_id, dict(delivery.items[0].headers)) == ((await other).item_id, {"n": "2"})
    assert (await aclient.await_item(queue, (await added).item_id)).state == "waiting"
