"""Words about leaders, to messages of the proto and back."""

from __future__ import annotations

from typing import Final

from keyturn._gen import leader_pb2 as pb
from keyturn.errors import TermLoss
from keyturn.words import HandOverReason, Predecessor, Succession


def alive(term: int) -> pb.LeadCommand:
    return pb.LeadCommand(alive=pb.Alive(term=term))


def inaugurated(term: int) -> pb.LeadCommand:
    return pb.LeadCommand(inaugurated=pb.Inaugurated(term=term))


def yielded(term: int, failed: bool) -> pb.LeadCommand:
    command = pb.LeadCommand()
    # A word of Python, too.
    getattr(command, "yield").CopyFrom(pb.Yield(term=term, failed=failed))
    return command


def handed_over(term: int, state: bytes, lost: bool) -> pb.LeadCommand:
    return pb.LeadCommand(handed_over=pb.HandedOver(term=term, state=state, lost=lost))


def withdrawn() -> pb.LeadCommand:
    return pb.LeadCommand(withdraw=pb.Withdraw())


_SUCCESSIONS: Final[dict[int, Succession]] = {
    pb.SUCCESSION_HANDED_OVER: "handed_over",
    pb.SUCCESSION_LOST: "lost",
}
_REASONS: Final[dict[int, HandOverReason]] = {
    pb.HAND_OVER_REASON_YIELD: "yield",
    pb.HAND_OVER_REASON_DRAIN: "drain",
}
_LOSSES: Final[dict[int, TermLoss]] = {
    pb.TERM_LOSS_CAUSE_TTL: "ttl",
    pb.TERM_LOSS_CAUSE_INAUGURATE_TIMEOUT: "inaugurate_timeout",
    pb.TERM_LOSS_CAUSE_HAND_OVER_TIMEOUT: "hand_over_timeout",
}


def predecessor_of(told: pb.Predecessor) -> Predecessor:
    return Predecessor(told.candidate_id, told.term, _SUCCESSIONS.get(told.how, "none"), told.state)


def reason_of(told: int) -> HandOverReason:
    return _REASONS.get(told, "operator")


def loss_of(told: int) -> TermLoss:
    return _LOSSES.get(told, "unknown")
