"""Leaders: what the conformance suite cannot see from outside."""

from __future__ import annotations

import asyncio
import threading
from array import array
from typing import Any

import pytest

import keyturn
import keyturn.aio
from keyturn import views
from keyturn._gen import leader_pb2 as pb
from keyturn._lead.options import state_of
from keyturn._lead.words import group_of
from tests.sidecar import Sidecar

WAIT = 20


class Works:
    """Until it is told to stop."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.asked: list[str] = []
        self.ended_by: BaseException | None = None

    def execute(self, term: keyturn.Term) -> None:
        self.begun.set()
        term.stopping.wait()
        try:
            term.check()
        except keyturn.KeyturnError as reason:
            self.ended_by = reason

    def hand_over(self, term: keyturn.Term, reason: str) -> str:
        self.asked.append(reason)
        # The sidecar counts in whole milliseconds.
        assert 0 < term.left < 10.001
        return "left"


class Nothing:
    execute = None


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("group", {"group": "no such name"}),
        ("career.execute", {"career": Nothing()}),
        ("ttl", {"ttl": 0.1}),
        ("margin", {"margin": -1}),
        ("inaugurate_timeout", {"inaugurate_timeout": 0}),
        ("hand_over_timeout", {"hand_over_timeout": 100_000}),
        ("progress", {"progress": "always"}),
        ("candidate_id", {"candidate_id": "x" * 257}),
        ("metadata", {"metadata": {"a": "x" * 9_000}}),
        # What cannot be sent would break the stream of all.
        ("metadata", {"metadata": {"a": "\ud800"}}),
        ("metadata", {"metadata": {"\ud800": "x"}}),
        ("metadata", {"metadata": {"a": 8080}}),
        ("candidate_id", {"candidate_id": "\ud800"}),
    ],
)
def test_what_is_wrong_with_a_lead_is_named(sidecar: Sidecar, field: str, options: dict[str, Any]) -> None:
    with keyturn.connect(sidecar.address) as client:
        given: dict[str, Any] = {"group": "g", "career": Works()} | options
        with pytest.raises(keyturn.WrongArgumentError, match=r"allowed|needed") as wrong:
            client.lead(**given)
        assert wrong.value.violations[0].field == field


def test_the_end_of_the_block_hands_over_and_the_next_one_has_what_was_left(sidecar: Sidecar) -> None:
    first, second = Works(), Works()
    with keyturn.connect(sidecar.address) as client:
        with client.lead("blocks", first, ttl=1) as leader:
            assert first.begun.wait(WAIT)
            term = leader.term
        assert leader.term is None
        assert isinstance(first.ended_by, keyturn.HandOverAskedError)
        assert first.asked == ["yield"]
        seen: list[keyturn.Predecessor] = []
        second.inaugurate = lambda term: seen.append(term.predecessor)  # type: ignore[attr-defined]
        with client.lead("blocks", second, ttl=1):
            assert second.begun.wait(WAIT)
        assert [(one.term, one.how, one.state) for one in seen] == [(term, "handed_over", b"left")]


def test_a_phase_must_not_wait_for_its_own_leadership_and_may_ask_it_to_yield(sidecar: Sidecar) -> None:
    told: list[object] = []
    leaders: list[keyturn.Leadership] = []
    made = threading.Event()

    class Curious:
        def execute(self, _: keyturn.Term) -> None:
            made.wait(WAIT)
            for wait in (leaders[0].wait, leaders[0].stop, client.close):
                try:
                    wait()
                except RuntimeError as error:
                    told.append(str(error))
            leaders[0].yield_()

    with keyturn.connect(sidecar.address) as client:
        leaders.append(client.lead("curious", Curious(), ttl=1, once=True))
        made.set()
        assert leaders[0].wait(WAIT)
    assert len(told) == 3, told


def test_a_thread_that_does_not_look_is_cut_off_by_the_close_of_its_client(sidecar: Sidecar) -> None:
    begun, release = threading.Event(), threading.Event()
    lost: list[bool] = []

    class Deaf:
        def execute(self, term: keyturn.Term) -> None:
            begun.set()
            lost.append(term.losing.wait(WAIT) and term.lost)
            release.wait(WAIT)

    client = keyturn.connect(sidecar.address)
    leader = client.lead("deaf", Deaf(), ttl=1)
    assert begun.wait(WAIT)
    client.close(0)
    assert lost == [True]
    assert leader.term is None
    release.set()
    with pytest.raises(keyturn.KeyturnError):
        client.lead("deaf", Deaf())


def test_a_task_is_cancelled_at_the_loss_alone(sidecar: Sidecar) -> None:
    async def play() -> list[str]:
        told: list[str] = []
        begun, cancelled = asyncio.Event(), asyncio.Event()

        class Career:
            async def execute(self, term: keyturn.aio.Term) -> None:
                begun.set()
                try:
                    await term.stopping.wait()
                    told.append("asked")
                    await asyncio.sleep(WAIT)
                except asyncio.CancelledError:
                    told.append(f"cancelled: {term.loss and term.loss.loss}")
                    cancelled.set()
                    raise

        async with keyturn.aio.connect(sidecar.address) as client:
            leader = client.lead("tasks", Career(), ttl=1, hand_over_timeout=0.2)
            await asyncio.wait_for(begun.wait(), WAIT)
            leader.yield_()
            await asyncio.wait_for(cancelled.wait(), WAIT)
            await leader.stop(0)
        return told

    told = asyncio.run(play())
    assert told[:2] in (["asked", "cancelled: hand_over_timeout"], ["asked", "cancelled: unreachable"])


def test_a_hand_over_that_leaves_what_it_may_not_is_one_that_failed(sidecar: Sidecar) -> None:
    class Wrong(Works):
        def hand_over(self, term: keyturn.Term, reason: str) -> Any:
            return 17

    seen: list[keyturn.Predecessor] = []
    with keyturn.connect(sidecar.address) as client:
        wrong = Wrong()
        with client.lead("wrong", wrong, ttl=1):
            assert wrong.begun.wait(WAIT)
        last = Works()
        last.inaugurate = lambda term: seen.append(term.predecessor)  # type: ignore[attr-defined]
        with client.lead("wrong", last, ttl=1):
            assert last.begun.wait(WAIT)
    assert [one.how for one in seen] == ["lost"]


@pytest.mark.parametrize("left", [memoryview(array("Q", range(8_193))), b"x" * 65_537, "\u00e9" * 32_769, 17, "\ud800"])
def test_a_state_that_the_sidecar_would_refuse_is_refused_before_it_breaks_the_stream_of_all(left: object) -> None:
    with pytest.raises(keyturn.WrongArgumentError) as wrong:
        state_of(left)
    assert wrong.value.violations[0].field == "state"


@pytest.mark.parametrize("left", [memoryview(array("Q", range(8_192))), bytearray(65_536), "\u00e9" * 32_768])
def test_a_state_of_64_kib_is_none_of_them(left: object) -> None:
    assert len(state_of(left)) == 65_536


def test_who_leads_is_told_and_the_leader_may_be_asked_to_hand_over(sidecar: Sidecar) -> None:
    with keyturn.connect(sidecar.address) as client:
        nobody = client.admin.get_leader("asked")
        assert (nobody.leader, nobody.candidates, nobody.until, nobody.why) == (None, 0, None, "")
        assert nobody.predecessor == keyturn.Predecessor("", 0, "none", b"")
        assert client.admin.yield_leader("asked") is None
        works, waits = Works(), Works()
        with client.lead("asked", works, ttl=9, candidate_id="one", metadata={"zone": "east"}) as leader:
            assert works.begun.wait(WAIT)
            with client.lead("asked", waits, ttl=9, candidate_id="two"):
                while (told := client.admin.get_leader("asked")).candidates == 0:
                    pass
                assert told.leader is not None
                assert (told.leader.candidate_id, told.leader.term) == ("one", leader.term)
                assert (told.leader.phase, dict(told.leader.metadata)) == ("executing", {"zone": "east"})
                assert 0 < told.leader.holds_for <= 9
                assert told.leader.since < told.leader.holds_until
                assert "one" in told.why
                assert client.admin.yield_leader("asked") == views.YieldAsked("one", told.leader.term)
                assert waits.begun.wait(WAIT)
                assert works.asked == ["operator"]
                after = client.admin.get_leader("asked")
                assert after.leader is not None
                assert (after.leader.candidate_id, after.leader.term > told.leader.term) == ("two", True)
                assert after.predecessor == keyturn.Predecessor("one", told.leader.term, "handed_over", b"")


async def test_with_asyncio_it_is_asked_in_the_same_way(aclient: keyturn.aio.Client) -> None:
    assert (await aclient.admin.get_leader("nobody-there")).leader is None
    assert await aclient.admin.yield_leader("nobody-there") is None
    with pytest.raises(keyturn.KeyturnError) as refused:
        await aclient.admin.get_leader("no such name")
    assert refused.value.code == "INVALID_ARGUMENT"


def test_each_phase_has_its_word() -> None:
    phases = [pb.LeaderPhase.Name(number) for number in pb.LeaderPhase.values()]
    words = [group_of(pb.GetLeaderResponse(leader=pb.Leader(phase=phase))).leader for phase in phases]
    assert [one and one.phase for one in words] == ["lost", "inaugurating", "executing", "handing_over", "lost"]
