"""Turns as scopes of asyncio."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

import keyturn
from keyturn.aio import Client, ScopedTurn
from tests.looks import holder_of


async def test_a_turn_is_held_while_the_block_runs_and_given_back_after_it(aclient: Client, key: str) -> None:
    async with aclient.turn("orders", key) as turn:
        held = await aclient.admin.explain_key("orders", key)
        assert holder_of(held).token == turn.token
    assert (await aclient.admin.explain_key("orders", key)).holder is None


async def test_a_block_that_raises_gives_the_turn_back_as_not_done(aclient: Client, key: str) -> None:
    with pytest.raises(ZeroDivisionError):
        async with aclient.turn("once", key, idempotency_key="id"):
            raise ZeroDivisionError
    async with aclient.turn("once", key, idempotency_key="id") as turn:
        turn.result = b"made"
    with pytest.raises(keyturn.Declined) as declined:
        async with aclient.turn("once", key, idempotency_key="id"):
            pytest.fail("it is done already")
    assert (declined.value.reason, declined.value.result) == ("already_done", b"made")


async def test_blocked_and_declined_are_told(aclient: Client, key: str) -> None:
    async with aclient.turn("coalesced", key):
        with pytest.raises(keyturn.Blocked) as blocked:
            async with aclient.turn("coalesced", key, wait=0):
                pytest.fail("somebody holds it")
        assert blocked.value.ahead == 1
        waiting = aclient.enqueue("coalesced", key, wait=5, ticket="first")
        outcome = await aclient.with_turn("coalesced", key, work, wait=5)
        assert outcome == keyturn.TurnDeclined("waiter_exists", "first")
        assert waiting.leave()


async def work(turn: ScopedTurn) -> str:
    return f"worked under {turn.key}"


async def test_with_turn_returns_what_the_handler_returned(aclient: Client, key: str) -> None:
    outcome = await aclient.with_turn("orders", key, work)
    # A checker of types knows by its status what an outcome has.
    assert outcome.status == "done"
    said: str = outcome.value
    assert said == f"worked under {key}"


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (keyturn.TurnDone(1, 5), "done 1"),
        (keyturn.TurnDeclined("already_done", result=b"made"), "declined already_done b'made'"),
        (keyturn.TurnBlocked(2), "blocked 2"),
    ],
)
def test_an_outcome_has_what_belongs_to_its_status(outcome: keyturn.TurnOutcome[int], said: str) -> None:
    if outcome.status == "done":
        value: int = outcome.value
        told = f"done {value}"
    elif outcome.status == "declined":
        reason: str = outcome.reason
        told = f"declined {reason} {outcome.result!r}"
    else:
        ahead: int | None = outcome.ahead
        told = f"blocked {ahead}"
    assert told == said


async def test_a_lost_turn_cancels_the_block_and_raises_why(aclient: Client, key: str) -> None:
    with pytest.raises(keyturn.TurnLostError) as lost:
        async with aclient.turn("orders", key) as turn:
            await aclient.admin.evict_holder("orders", key)
            await asyncio.sleep(30)
    assert lost.value.cause == "evicted"
    assert turn.lost
    # What follows is not hit by the cancellation of the block.
    await asyncio.sleep(0)


async def test_a_block_that_ignores_the_loss_is_not_called_done(aclient: Client, key: str) -> None:
    with pytest.raises(keyturn.TurnLostError):
        async with aclient.turn("orders", key):
            await aclient.admin.evict_holder("orders", key)
            with pytest.raises(asyncio.CancelledError):
                await asyncio.sleep(30)


async def test_a_cancelled_task_stays_cancelled_and_gives_its_turn_back(aclient: Client, key: str) -> None:
    entered = asyncio.Event()

    async def holds() -> None:
        async with aclient.turn("orders", key):
            entered.set()
            await asyncio.sleep(30)

    task = asyncio.ensure_future(holds())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with aclient.turn("orders", key, wait=0):
        pass


async def test_max_hold_ends_the_block(aclient: Client, key: str) -> None:
    with pytest.raises(keyturn.HoldTimeoutError):
        async with aclient.turn("orders", key, max_hold=0.05):
            await asyncio.sleep(30)
    async with aclient.turn("orders", key, wait=0):
        pass


async def test_who_is_cancelled_while_waiting_leaves_the_line(aclient: Client, key: str) -> None:
    async with aclient.turn("orders", key):

        async def waits() -> None:
            async with aclient.turn("orders", key, wait=30):
                pytest.fail("it is held")

        task = asyncio.ensure_future(waits())
        while (await aclient.admin.explain_key("orders", key)).waiting == 0:
            pass
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while (await aclient.admin.explain_key("orders", key)).waiting > 0:
            pass


async def test_strict_order_declines_nobody(aclient: Client, key: str) -> None:
    order: list[int] = []

    async def one(number: int) -> None:
        async with aclient.turn("coalesced", key, order="strict", wait=30):
            order.append(number)

    await asyncio.gather(*(one(number) for number in range(20)))
    assert order == list(range(20))


@pytest.mark.parametrize("transport", ["session", "unary"])
async def test_a_lease_is_renewed_while_the_block_runs(
    address: str, key: str, transport: Literal["session", "unary"]
) -> None:
    async with keyturn.aio.connect(address, transport=transport) as client, client.turn("short", key, lease=1.5) as turn:
        while holder_of(await client.admin.explain_key("short", key)).renewals < 3:
            turn.check()
            await asyncio.sleep(0.05)


async def test_a_session_keeps_a_turn_alive_beyond_the_lease_of_its_queue(aclient: Client, key: str) -> None:
    loop = asyncio.get_running_loop()
    async with aclient.turn("short", key) as turn:
        begun = loop.time()
        while loop.time() - begun < 1.0:
            assert holder_of(await aclient.admin.explain_key("short", key)).token == turn.token
            await asyncio.sleep(0.05)


async def test_wrong_arguments_are_named(aclient: Client) -> None:
    with pytest.raises(keyturn.WrongArgumentError, match="wait is -1"):
        aclient.turn("orders", "k", wait=-1)
    with pytest.raises(keyturn.WrongArgumentError, match="idempotency_key"):
        aclient.turn("orders", "k", order="strict", idempotency_key="x")
    with pytest.raises(keyturn.WrongArgumentError, match="cannot be written"):
        await aclient.enqueue("orders", 5)  # type: ignore[arg-type]
    with pytest.raises(keyturn.WrongArgumentError, match="cannot be written"):
        await aclient.enqueue("orders", "\ud800")
    with pytest.raises(keyturn.KeyturnError) as refused:
        await aclient.enqueue("no such name!", "k")
    assert [one.field for one in refused.value.violations] == ["queue"]
    for wrong in ("nowhere", "host:99999", "unix:", ""):
        with pytest.raises(keyturn.WrongArgumentError, match="address"):
            keyturn.aio.connect(wrong)
    with pytest.raises(keyturn.WrongArgumentError, match="session_ttl is 0"):
        keyturn.aio.connect("localhost:1", session_ttl=0)
    with pytest.raises(keyturn.WrongArgumentError, match=r"tls\.ca"):
        keyturn.aio.connect("localhost:1", tls=keyturn.Tls(ca="/no/such/file"))


@pytest.mark.skipif(not hasattr(asyncio, "TaskGroup"), reason="tasks count their cancellations from Python 3.11 on")
async def test_a_loss_is_told_where_the_task_was_cancelled_before(aclient: Client, key: str) -> None:
    async def loses() -> None:
        task: Any = asyncio.current_task()
        # As after a TaskGroup that failed while its task was cancelled.
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(0)
        assert task.cancelling() == 1
        with pytest.raises(keyturn.TurnLostError) as lost:
            async with aclient.turn("orders", key):
                await aclient.admin.evict_holder("orders", key)
                await asyncio.sleep(30)
        assert (lost.value.cause, task.cancelling()) == ("evicted", 1)

    await asyncio.ensure_future(loses())
