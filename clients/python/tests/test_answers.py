"""What the sidecar answers, as an application sees it."""

from __future__ import annotations

from keyturn import ProducerResult
from keyturn._gen import coordinator_pb2 as pb
from keyturn._words import answers

ACCEPTED = pb.SubmitResult(item_id="one", decision=pb.DECISION_ACCEPT)
AWAY = pb.SubmitResult(item_id="two", decision=pb.DECISION_ACCEPT, on_its_way=True)


def test_an_ack_says_which_of_its_follow_ups_are_on_their_way() -> None:
    told = answers.ack(pb.AckResponse(follow_ups=[ACCEPTED, AWAY])).follow_ups
    assert [(one.item_id, one.decision, one.on_its_way) for one in told] == [
        ("one", "accept", False),
        ("two", "accept", True),
    ]


def test_a_producer_says_all_that_a_submit_says() -> None:
    for result in answers.submit(pb.SubmitResponse(results=[ACCEPTED, AWAY])):
        assert ProducerResult(*result)._asdict() == result._asdict()
