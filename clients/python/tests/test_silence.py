"""Turns that were told lost, because nothing was heard, and that the session has all the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import keyturn
from keyturn._connection.call import Call
from keyturn._gen import coordinator_pb2 as pb
from keyturn._session.turn_keeping import TurnKeeping
from keyturn._session.turns.renewals import Renewals


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
