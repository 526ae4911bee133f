"""Turns that were told lost, because nothing was heard, and that the session has all the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import keyturn
from keyturn._connection.call import Call
from keyturn._gen import coordinator_pb2 as pb
from keyturn._session.liveness import Liveness
from keyturn._session.turn_keeping import TurnKeeping
from keyturn._session.turns.held import Held
from keyturn._session.turns.renewals import Renewals
from keyturn._words.worker_call import WorkerCall
from tests.stands import Stands


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


@pytest.mark.parametrize(("stood", "cause"), [(17.999, "lease_expired"), (18.0, "unreachable")])
async def test_why_a_lease_ended_does_not_depend_on_what_a_process_reads_first_that_stood_still(
    stood: float, cause: str
) -> None:
    clock: Any = Stands()
    clock.call_at = lambda *_: asyncio.get_running_loop().call_later(60, lambda: None)
    renewals = Renewals(lambda *_, **__: Call(), clock, None, lambda *_: None)
    turns = TurnKeeping(clock, renewals, lambda _: None, None, lambda: 1.0)
    turn = keyturn.Turn("q", "k", 7, 20.0, 0, None)
    turns.given(turn, False, "")
    held = turns.hold(turn, 0)
    clock.now = stood
    lost = pb.Notice(
        kind=pb.NOTICE_KIND_TURN_LOST, cause=pb.LOSS_CAUSE_LEASE_EXPIRED, turn=pb.Turn(queue="q", key="k", token=7)
    )
    turns.notice(lost, list)
    assert held.loss is not None
    assert held.loss.cause == cause


@pytest.mark.parametrize(("stood", "cause"), [(17.999, "lease_expired"), (18.0, "unreachable")])
async def test_nor_on_the_answer_to_its_renewal(stood: float, cause: str) -> None:
    clock: Any = Stands()
    due: list[Any] = []

    def call_at(_: float, tick: Any) -> asyncio.TimerHandle:
        due.append(tick)
        return asyncio.get_running_loop().call_later(60, lambda: None)

    clock.call_at = call_at
    asked: list[Call[list[keyturn.RenewResult]]] = []

    def ask(_: WorkerCall[list[keyturn.RenewResult]], __: float) -> Call[list[keyturn.RenewResult]]:
        asked.append(Call())
        return asked[-1]

    told: list[str] = []
    renewals = Renewals(ask, clock, None, lambda _, why: told.append(why))
    turn = keyturn.Turn("q", "k", 7, 20.0, 0, None)
    renewals.keep(Held(turn, lambda _: None), 0)
    clock.now = 7.0
    due.pop()()
    clock.now = stood
    asked[0].set_result([keyturn.RenewResult(False, cause="lease_expired")])
    await asyncio.sleep(0)
    assert told == [cause]


@pytest.mark.parametrize(
    ("attempt", "is_held", "kind"),
    [(1, True, pb.NACK_KIND_RETRY), (1, False, pb.NACK_KIND_RELEASE), (0, True, pb.NACK_KIND_RELEASE)],
)
async def test_a_turn_that_a_silence_took_counts_an_attempt_if_somebody_worked_on_its_items(
    attempt: int, is_held: bool, kind: int
) -> None:
    clock: Any = Stands()
    asked: list[Any] = []
    renewals = Renewals(lambda *_, **__: Call(), asyncio.get_running_loop(), None, lambda *_: None)
    turns = TurnKeeping(clock, renewals, asked.append, None, lambda: 1.0)
    turns.given(keyturn.Turn("q", "k", 7, 20.0, attempt, None), True, "")
    held = turns.hold(keyturn.Turn("q", "k", 7, 20.0, attempt, None), 0)
    if not is_held:
        held.release()
    turns.lose(held, "unreachable")
    held.release()
    turns.attached([pb.TurnRef(queue="q", key="k", token=7)], [], 0)
    assert [pb.Command.FromString(one.body).nack.kind for one in asked] == [kind]
    if kind == pb.NACK_KIND_RETRY:
        refusal = pb.Reply()
        refusal.error.code = 9
        asked[0].answered(refusal, turns)
        assert pb.Command.FromString(asked[1].body).nack.kind == pb.NACK_KIND_RELEASE


def test_a_process_that_stood_still_asks_for_a_second_before_it_gives_up() -> None:
    liveness = Liveness(10.0, None)
    liveness.proved(0.0)
    liveness.busy(0.0)
    assert liveness.stop_at == 9.0
    # Late, but in time for those who are to stop.
    liveness.woke(9.5, 1.0)
    assert liveness.stop_at == 9.0
    # Late by more than the margin, before holders get the loss.
    liveness.woke(8.9, 2.0)
    assert liveness.stop_at == 9.0
    liveness.woke(18.0, 15.0)
    assert liveness.stop_at == 19.0
    assert liveness.dead_at(0.0) == 19.0
    assert liveness.prove_at < 18.0
    # Late again, and nothing was heard meanwhile.
    liveness.woke(22.0, 4.0)
    assert liveness.stop_at == 19.0
    liveness.proved(18.0)
    assert liveness.stop_at == 27.0
    liveness.woke(40.0, 15.0)
    assert liveness.stop_at == 41.0
