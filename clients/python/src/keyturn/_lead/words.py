"""Words about leaders, to messages of the proto and back."""

from __future__ import annotations

from typing import Final

from keyturn import views
from keyturn._gen import leader_pb2 as pb
from keyturn._words import answers
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
_PHASES: Final[dict[int, views.LeaderPhase]] = {
    pb.LEADER_PHASE_INAUGURATING: "inaugurating",
    pb.LEADER_PHASE_EXECUTING: "executing",
    pb.LEADER_PHASE_HANDING_OVER: "handing_over",
}


def predecessor_of(told: pb.Predecessor) -> Predecessor:
    return Predecessor(told.candidate_id, told.term, _SUCCESSIONS.get(told.how, "none"), told.state)


def reason_of(told: int) -> HandOverReason:
    return _REASONS.get(told, "operator")


def loss_of(told: int) -> TermLoss:
    return _LOSSES.get(told, "unknown")


def group_of(told: pb.GetLeaderResponse) -> views.LeaderGroup:
    return views.LeaderGroup(
        group=told.group,
        leader=_leader_of(told.leader) if told.HasField("leader") else None,
        candidates=told.candidates,
        predecessor=predecessor_of(told.predecessor),
        why=told.why,
        until=answers.instant(told.until.ToNanoseconds()) if told.HasField("until") else None,
    )


def _leader_of(told: pb.Leader) -> views.Leader:
    return views.Leader(
        candidate_id=told.candidate_id,
        term=told.term,
        phase=_PHASES.get(told.phase, "lost"),
        since=answers.instant(told.since.ToNanoseconds()),
        metadata=dict(told.metadata),
        holds_until=answers.instant(told.holds_until.ToNanoseconds()),
        holds_for=answers.seconds(told.holds_for),
    )


def asked_of(told: pb.YieldLeaderResponse) -> views.YieldAsked | None:
    return views.YieldAsked(told.candidate_id, told.term) if told.asked else None
