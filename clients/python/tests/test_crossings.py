"""An answer that crosses what its caller does meanwhile: a cancel, a stop, the end of the client. No turn is left behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Literal

import pytest

import keyturn
from keyturn import EnqueueAnswer, NewItem
from keyturn._call import Call
from keyturn._gen import coordinator_pb2 as pb
from keyturn._session import session as session_module
from keyturn._session.turn_keeping import TurnKeeping
from keyturn._sync import loop_thread
from keyturn._sync.loop_thread import Asked
from keyturn._turns import confirmations
from keyturn._turns.renewals import Renewals
from keyturn.aio import Client, Work
from tests.answers import at_the_answer
from tests.looks import holder_of

Kind = Literal["session", "unary"]
KINDS: list[Kind] = ["session", "unary"]


async def is_free(client: Client, queue: str, key: str) -> bool:
    """Long before any lease or session ends."""
    answer = await client.enqueue(queue, key, wait=6, lease=0.5)
    return answer.decision == "accept"


@pytest.mark.parametrize("lease", [None, 20])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_grant_of_a_raw_call_whose_task_is_cancelled_at_that_moment_is_given_back(
    address: str, aclient: Client, key: str, kind: Kind, lease: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with keyturn.aio.connect(address, transport=kind) as client:

        async def asks() -> None:
            await client.enqueue("orders", key, lease=lease)
            pytest.fail("it is cancelled")

        task = asyncio.ensure_future(asks())
        at_the_answer(monkeypatch, client._transport, "enqueue", task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await is_free(aclient, "orders", key)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_delivery_of_a_raw_call_whose_task_is_cancelled_at_that_moment_is_given_back(
    address: str, aclient: Client, queue: str, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    await aclient.submit(queue, NewItem(b"1", key="a"))
    async with keyturn.aio.connect(address, transport=kind) as client:

        async def asks() -> None:
            await client.acquire(queue, wait=5)
            pytest.fail("it is cancelled")

        task = asyncio.ensure_future(asks())
        at_the_answer(monkeypatch, client._transport, "acquire", task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        (delivery,) = await aclient.acquire(queue, wait=5)
        assert delivery.turn.attempt == 1


async def test_a_grant_that_another_call_with_its_ticket_got_too_stays(
    aclient: Client, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await aclient.enqueue("orders", key, ticket="t")
    assert first.turn is not None

    async def asks_again() -> None:
        await aclient.enqueue("orders", key, ticket="t")
        pytest.fail("it is cancelled")

    task = asyncio.ensure_future(asks_again())
    at_the_answer(monkeypatch, aclient._transport, "enqueue", task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert holder_of(await aclient.admin.explain_key("orders", key)).token == first.turn.token
    await aclient.dequeue("orders", key, token=first.turn.token)


class LateRenew:
    """Every answer counts as so old that it is confirmed by a Renew, at which `act` is called."""

    def __init__(self, patch: pytest.MonkeyPatch, transport: Any, act: Callable[[], object]) -> None:
        self._transport, self._act, self._ask = transport, act, transport.ask
        transport._confirmations._ask = self._asked
        patch.setattr(confirmations, "_FRESH", 0)

    def _asked(self, *args: Any, **options: Any) -> Any:
        self._act()
        return self._ask(*args, **options)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_turn_that_is_cancelled_while_it_is_confirmed_is_given_back(
    address: str, aclient: Client, key: str, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with keyturn.aio.connect(address, transport=kind) as client:
        held = await aclient.enqueue("orders", key)
        assert held.turn is not None
        waits = asyncio.ensure_future(_await(client.enqueue("orders", key, wait=20, lease=20)))
        LateRenew(monkeypatch, client._transport, waits.cancel)
        await aclient.dequeue("orders", key, token=held.turn.token)
        with pytest.raises(asyncio.CancelledError):
            await waits
        answer = await aclient.enqueue("orders", key, wait=6, lease=0.5)
        assert answer.decision == "accept"


async def _await(call: Any) -> Any:
    return await call


@pytest.mark.parametrize("kind", KINDS)
async def test_a_delivery_that_is_confirmed_as_its_consumer_stops_is_no_dead_letter(
    address: str, aclient: Client, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def handle(_: Work) -> None:
        pytest.fail("it is stopped")

    async with keyturn.aio.connect(address, transport=kind) as client:
        consumer = client.consume("single", handle, lease=20)
        LateRenew(monkeypatch, client._transport, lambda: consumer._core.stop(5))
        submitted = await aclient.submit("single", NewItem(b"1"))
        await asyncio.wait_for(consumer.wait(), 10)
    (delivery,) = await aclient.acquire("single", wait=5)
    assert (delivery.items[0].item_id, delivery.turn.attempt) == (submitted.item_id, 1)
    await aclient.ack("single", "", delivery.turn.token)


@pytest.mark.parametrize("kind", KINDS)
def test_a_grant_that_comes_as_its_thread_is_interrupted_is_given_back(
    address: str, client: keyturn.Client, key: str, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Asked[Any]):
        def result(self, timeout: float | None = None) -> Any:
            answer = super().result(timeout)
            if isinstance(answer, EnqueueAnswer):
                raise KeyboardInterrupt
            return answer

    with keyturn.connect(address, transport=kind) as other:
        monkeypatch.setattr(loop_thread, "Asked", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            other.enqueue("orders", key)
        monkeypatch.undo()
        assert client.enqueue("orders", key, wait=6, lease=0.5).decision == "accept"


@pytest.mark.parametrize("order", ["coalesce", "strict"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_scoped_turn_that_is_granted_as_its_client_begins_to_close_blocks_nobody(
    address: str,
    aclient: Client,
    key: str,
    kind: Kind,
    order: Literal["coalesce", "strict"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = keyturn.aio.connect(address, transport=kind)
    closing: list[asyncio.Future[None]] = []

    async def holds() -> None:
        async with client.turn("orders", key, wait=5, order=order):
            await asyncio.sleep(30)

    method = "enqueue" if order == "coalesce" else "acquire"
    at_the_answer(monkeypatch, client._transport, method, lambda: closing.append(asyncio.ensure_future(client.close())))
    with pytest.raises(keyturn.KeyturnError):
        await holds()
    await closing[0]
    assert await is_free(aclient, "orders", key)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_block_that_ends_when_its_client_is_closed_blocks_nobody(
    address: str, aclient: Client, key: str, kind: Kind
) -> None:
    client = keyturn.aio.connect(address, transport=kind)
    entered = asyncio.Event()

    async def holds() -> None:
        async with client.turn("orders", key):
            entered.set()
            await asyncio.sleep(30)

    task = asyncio.ensure_future(holds())
    await entered.wait()
    await client.close()
    with pytest.raises(keyturn.TurnLostError) as lost:
        await task
    assert lost.value.cause == "closed"
    assert await is_free(aclient, "orders", key)


def test_a_block_of_a_thread_that_ends_when_its_client_is_closed_blocks_nobody(
    address: str, client: keyturn.Client, key: str
) -> None:
    other = keyturn.connect(address)
    entered = threading.Event()
    told: list[BaseException] = []

    def holds() -> None:
        try:
            with other.turn("orders", key) as turn:
                entered.set()
                turn.stopping.wait(30)
        except keyturn.TurnLostError as error:
            told.append(error)

    thread = threading.Thread(target=holds)
    thread.start()
    assert entered.wait(10)
    other.close()
    thread.join()
    assert len(told) == 1
    assert client.enqueue("orders", key, wait=6, lease=0.5).decision == "accept"


async def test_a_turn_is_refused_once_its_client_began_to_close(address: str, key: str) -> None:
    client = keyturn.aio.connect(address)
    closing = asyncio.ensure_future(client.close())
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        async with client.turn("orders", key):
            pytest.fail("it is closing")
    await closing


class HeldBack:
    """From `begin` on what the sidecar says reaches the session only after it has sent a Cancel: the two cross."""

    def __init__(self, patch: pytest.MonkeyPatch, client: Client) -> None:
        session: Any = client._transport._session  # type: ignore[attr-defined]
        self._session = session
        self._take, self._ask = session._take, session._calls._ask
        self._messages: list[Any] = []
        self._is_holding = False
        self.has_answer = asyncio.Event()
        patch.setattr(session, "_take", self._on_message)
        patch.setattr(session._calls, "_ask", self._on_cancel)

    def begin(self) -> None:
        self._is_holding = True

    def _on_message(self, stream: Any, message: Any) -> None:
        if not self._is_holding:
            self._take(stream, message)
            return
        self._messages.append((stream, message))
        self.has_answer.set()

    def _on_cancel(self, command: Any) -> None:
        self._ask(command)
        self._is_holding = False
        for stream, message in self._messages:
            self._take(stream, message)
        self._messages.clear()


@pytest.mark.parametrize("by", ["stop", "close"])
async def test_a_delivery_that_crosses_a_stop_is_no_dead_letter(
    address: str, aclient: Client, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def handle(_: Work) -> None:
        pytest.fail("it is stopped")

    client = keyturn.aio.connect(address)
    held_back = HeldBack(monkeypatch, client)
    consumer = client.consume("single", handle)
    await client.enqueue("orders", by, lease=0.1)
    held_back.begin()
    submitted = await aclient.submit("single", NewItem(b"1"))
    await held_back.has_answer.wait()
    await (consumer.stop() if by == "stop" else client.close())
    (delivery,) = await aclient.acquire("single", wait=6)
    assert (delivery.items[0].item_id, delivery.turn.attempt) == (submitted.item_id, 1)
    await aclient.ack("single", "", delivery.turn.token)
    await client.close()


@pytest.mark.parametrize("how", ["raw", "scoped"])
async def test_a_grant_that_crosses_the_close_of_its_client_blocks_nobody(
    address: str, aclient: Client, key: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = keyturn.aio.connect(address)
    held_back = HeldBack(monkeypatch, client)
    held = await aclient.enqueue("orders", key)
    assert held.turn is not None
    asks = client.enqueue("orders", key, wait=5) if how == "raw" else client.with_turn("orders", key, _never, wait=5)
    waits = asyncio.ensure_future(asks)
    await client.enqueue("orders", key + "2", lease=0.1)
    held_back.begin()
    await aclient.dequeue("orders", key, token=held.turn.token)
    await held_back.has_answer.wait()
    await client.close()
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        await waits
    assert await is_free(aclient, "orders", key)


async def _never(_: object) -> None:
    pytest.fail("it is closing")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_turn_that_is_being_confirmed_when_its_client_is_closed_is_given_back(
    address: str, aclient: Client, key: str, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = keyturn.aio.connect(address, transport=kind)
    transport: Any = client._transport
    begun = asyncio.Event()

    def never(*_: Any, **__: Any) -> Any:
        begun.set()
        return Call(loop=transport.loop)

    transport._confirmations._ask = never
    with monkeypatch.context() as patch:
        patch.setattr(confirmations, "_FRESH", 0)
        asked = asyncio.ensure_future(_await(client.enqueue("orders", key, ticket="t", wait=5, lease=20)))
        await begun.wait()
    await client.close()
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        await asked
    assert await is_free(aclient, "orders", key)


class CutAtCancel(HeldBack):
    """The stream breaks between a Cancel and its answer, and with it the answer that crossed the Cancel."""

    def _on_cancel(self, command: Any) -> None:
        self._ask(command)
        self._is_holding = False
        if self._messages:
            self._messages.clear()
            asyncio.get_running_loop().call_soon(self._session._broke, keyturn.KeyturnError("cut", "UNAVAILABLE"))


async def test_a_turn_that_a_stream_had_brought_which_broke_while_its_client_was_closed_is_given_back(
    address: str, aclient: Client, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long enough for a machine that is busy.
    monkeypatch.setattr(session_module, "_FAREWELL", 20)
    client = keyturn.aio.connect(address, session_ttl=60)
    held_back = CutAtCancel(monkeypatch, client)
    held = await aclient.enqueue("orders", key)
    assert held.turn is not None
    waits = asyncio.ensure_future(_await(client.enqueue("orders", key, wait=20)))
    await client.enqueue("orders", key + "2", lease=0.1)
    held_back.begin()
    await aclient.dequeue("orders", key, token=held.turn.token)
    await held_back.has_answer.wait()
    await client.close()
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        await waits
    assert await is_free(aclient, "orders", key)


class Stands:
    """A clock, for what asks nothing else of its loop."""

    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        return self.now


@pytest.mark.parametrize("is_released", [True, False])
async def test_a_turn_that_a_silence_took_goes_back_when_its_holder_has_ended_or_had_the_margin(is_released: bool) -> None:
    clock: Any = Stands()
    asked: list[Any] = []
    renewals = Renewals(lambda *_, **__: Call(), asyncio.get_running_loop(), None, lambda *_: None)
    turns = TurnKeeping(clock, renewals, asked.append, None, lambda: 1.0)
    turn = keyturn.Turn("q", "k", 7, 20.0, 0, None)
    turns.given(turn, True, "")
    held = turns.hold(turn, 0)
    turns.lose(held, "unreachable")
    told = [pb.TurnRef(queue="q", key="k", token=7)]
    for _ in range(2):
        # Another stream tells of it once more.
        turns.detached()
        turns.attached(told, [], 0)
    assert not asked
    clock.now = 0.9
    turns.tick(clock.now, 9)
    assert not asked
    assert turns.next_at(9) == 1.0
    if is_released:
        held.release()
    else:
        clock.now = 1.0
        turns.tick(clock.now, 9)
        held.release()
    assert [one.__class__.__name__ for one in asked] == ["GivingBack"]
