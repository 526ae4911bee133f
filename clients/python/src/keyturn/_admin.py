"""The calls for people: they look, and step in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from google.protobuf.message import Message

from keyturn._call import Call
from keyturn._gen import admin_pb2 as pb
from keyturn._unary import Unary

M = TypeVar("M", bound=Message)

_TIMEOUT: Final = 10.0


class Admin:
    """AdminService as it is: answers are the messages of `keyturn/v1/admin.proto`. All take `timeout`, seconds."""

    def __init__(self, unary: Unary) -> None:
        self._unary = unary

    def list_queues(self, *, timeout: float = _TIMEOUT) -> Call[pb.ListQueuesResponse]:
        """Tell of every queue: its policy and its counts."""
        return self._ask("ListQueues", pb.ListQueuesRequest(), pb.ListQueuesResponse, timeout)

    def list_keys(
        self,
        queue: str,
        *,
        state: str | None = None,
        page_size: int = 100,
        page_token: str = "",
        timeout: float = _TIMEOUT,
    ) -> Call[pb.ListKeysResponse]:
        """List keys that are in one state (`PROCESS`, …), longest in it first; None: any but INIT."""
        lane = pb.LANE_STATE_UNSPECIFIED if state is None else f"LANE_STATE_{state}"
        request = pb.ListKeysRequest(queue=queue, state=lane, page_size=page_size, page_token=page_token)
        return self._ask("ListKeys", request, pb.ListKeysResponse, timeout)

    def explain_key(self, queue: str, key: str, *, timeout: float = _TIMEOUT) -> Call[pb.ExplainKeyResponse]:
        """Say in which state a key is, who holds it, who waits, and why it does not move."""
        request = pb.ExplainKeyRequest(queue=queue, key=key)
        return self._ask("ExplainKey", request, pb.ExplainKeyResponse, timeout)

    def evict_holder(self, queue: str, key: str, *, timeout: float = _TIMEOUT) -> Call[pb.EvictHolderResponse]:
        """End the live turn of a key; its items go back without counting an attempt."""
        request = pb.EvictHolderRequest(queue=queue, key=key)
        return self._ask("EvictHolder", request, pb.EvictHolderResponse, timeout)

    def resume_key(self, queue: str, key: str, *, timeout: float = _TIMEOUT) -> Call[pb.ResumeKeyResponse]:
        """Let a parked key go on."""
        request = pb.ResumeKeyRequest(queue=queue, key=key)
        return self._ask("ResumeKey", request, pb.ResumeKeyResponse, timeout)

    def pause_queue(self, queue: str, *, timeout: float = _TIMEOUT) -> Call[pb.PauseQueueResponse]:
        """Stop a queue from giving turns; turns that live go on."""
        request = pb.PauseQueueRequest(queue=queue)
        return self._ask("PauseQueue", request, pb.PauseQueueResponse, timeout)

    def resume_queue(self, queue: str, *, timeout: float = _TIMEOUT) -> Call[pb.ResumeQueueResponse]:
        """Let a paused queue go on."""
        request = pb.ResumeQueueRequest(queue=queue)
        return self._ask("ResumeQueue", request, pb.ResumeQueueResponse, timeout)

    def set_limits(
        self,
        queue: str,
        *,
        rate: pb.Rate | None = None,
        max_in_flight: int | None = None,
        timeout: float = _TIMEOUT,
    ) -> Call[pb.SetLimitsResponse]:
        """Change limits of a queue while it runs; what is None stays, 0 takes a limit away."""
        request = pb.SetLimitsRequest(queue=queue, rate=rate, max_in_flight=max_in_flight)
        return self._ask("SetLimits", request, pb.SetLimitsResponse, timeout)

    def list_dead_letters(
        self,
        queue: str,
        *,
        key: str | None = None,
        page_size: int = 100,
        page_token: str = "",
        timeout: float = _TIMEOUT,
    ) -> Call[pb.ListDeadLettersResponse]:
        """List dead letters in the order of their submission."""
        request = pb.ListDeadLettersRequest(queue=queue, key=key, page_size=page_size, page_token=page_token)
        return self._ask("ListDeadLetters", request, pb.ListDeadLettersResponse, timeout)

    def redrive(
        self,
        queue: str,
        *,
        key: str | None = None,
        item_ids: Sequence[str] = (),
        timeout: float = _TIMEOUT,
    ) -> Call[pb.RedriveResponse]:
        """Put dead letters back before what waits, attempts from 1. No ids: all."""
        request = pb.RedriveRequest(queue=queue, key=key, item_ids=item_ids)
        return self._ask("Redrive", request, pb.RedriveResponse, timeout)

    def discard(
        self,
        queue: str,
        *,
        key: str | None = None,
        item_ids: Sequence[str] = (),
        waiting: bool = False,
        timeout: float = _TIMEOUT,
    ) -> Call[pb.DiscardResponse]:
        """Remove dead letters, and with `waiting` also items that wait. No ids: all."""
        request = pb.DiscardRequest(queue=queue, key=key, item_ids=item_ids, waiting=waiting)
        return self._ask("Discard", request, pb.DiscardResponse, timeout)

    def _ask(self, method: str, request: Message, answer: type[M], timeout: float) -> Call[M]:
        return self._unary.ask(f"AdminService/{method}", lambda: request, answer, lambda message: message, timeout)
