"""TURN_KEPT: a home of the cluster tells, after the answer to the hello, which turns the session has there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import keyturn
from keyturn._connection.call import Call
from keyturn._gen import coordinator_pb2 as pb
from keyturn._session.command import CallCommand
from keyturn._session.turn_keeping import TurnKeeping
from keyturn._session.turns.renewals import Renewals
from keyturn._words import calls
from tests.stands import Stands


class Books:
    """The turns of a session, and what it asks for itself."""

    def __init__(self) -> None:
        clock: Any = Stands()
        self.asked: list[Any] = []
        renewals = Renewals(lambda *_, **__: Call(), asyncio.get_running_loop(), None, lambda *_: None)
        self.turns = TurnKeeping(clock, renewals, self.asked.append, None, lambda: 1.0)

    def tell_kept(self, token: int, *commands: CallCommand[Any]) -> None:
        turn = pb.Turn(queue="q", key="k", token=token)
        self.turns.notice(pb.Notice(kind=pb.NOTICE_KIND_TURN_KEPT, turn=turn), lambda: list(commands))

    @property
    def given_back(self) -> list[int]:
        bodies = (one.body for one in self.asked if one.__class__.__name__ == "GivingBack")
        return [pb.Command.FromString(body).nack.token for body in bodies]


def command_of(call: Any) -> CallCommand[Any]:
    return CallCommand(call, Call(), lambda *_: None)


def turn_of(token: int) -> keyturn.Turn:
    return keyturn.Turn("q", "k", token, 20.0, 0, None)


@pytest.mark.parametrize("is_told", [True, False])
async def test_one_that_is_known_is_as_safe_as_the_new_stream(is_told: bool) -> None:
    books = Books()
    books.turns.given(turn_of(7), True, "")
    held = books.turns.hold(turn_of(7), 0)
    books.turns.detached()
    # The hello did not name it, and no Renew is answered: it lives until then at the most.
    books.turns.attached([], [], 5.0)
    if is_told:
        books.tell_kept(7)
    books.turns.tick(5.0, 9.0)
    assert held.lost is not is_told
    assert books.given_back == []


async def test_one_that_nobody_knows_goes_back_once() -> None:
    books = Books()
    books.tell_kept(9)
    assert books.given_back == [9]


async def test_it_waits_for_an_open_call_that_may_be_answered_with_it() -> None:
    books = Books()
    asked = command_of(calls.Enqueue("q", "k", "t", 5.0, None, "", ""))
    books.tell_kept(9, asked)
    books.tell_kept(10, asked)
    books.tell_kept(10, asked)
    assert books.given_back == []
    books.turns.given(turn_of(9), True, "t")
    books.turns.done(asked)
    assert books.given_back == [10]


async def test_a_call_without_a_ticket_is_not_answered_with_it() -> None:
    books = Books()
    books.tell_kept(9, command_of(calls.Enqueue("q", "k", "", 5.0, None, "", "")))
    assert books.given_back == [9]


async def test_it_is_left_to_the_call_that_settles_it() -> None:
    books = Books()
    settles = command_of(calls.Nack(keyturn.TurnRef("q", "k", 9), "retry"))
    books.tell_kept(9, settles)
    books.turns.done(settles)
    assert books.given_back == []


async def test_one_that_a_silence_took_goes_back_when_its_holder_has_ended() -> None:
    books = Books()
    books.turns.given(turn_of(7), True, "")
    held = books.turns.hold(turn_of(7), 0)
    books.turns.lose(held, "unreachable")
    books.tell_kept(7)
    assert books.given_back == []
    held.release()
    assert books.given_back == [7]


async def test_while_the_client_closes_it_waits_for_its_holder_alone() -> None:
    books = Books()
    books.turns.given(turn_of(7), True, "")
    held = books.turns.hold(turn_of(7), 0)
    books.turns.close()
    asked = command_of(calls.Enqueue("q", "k", "t", 5.0, None, "", ""))
    books.tell_kept(7, asked)
    books.tell_kept(9, asked)
    assert held.lost
    assert books.given_back == [9]
