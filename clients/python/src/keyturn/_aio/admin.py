"""The calls for people: they look, and step in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from google.protobuf.message import Message

from keyturn import views
from keyturn._connection.call import Call
from keyturn._connection.unary import Unary
from keyturn._gen import admin_pb2 as pb
from keyturn._gen import leader_pb2 as leaders
from keyturn._lead.words import asked_of, group_of
from keyturn._words.plain import plain
from keyturn._words.requests import duration

A = TypeVar("A")
M = TypeVar("M", bound=Message)

_TIMEOUT: Final = 10.0
_MOVE_TIMEOUT: Final = 30.0
"""A sidecar waits 20 s for a move."""
_RESTORE_TIMEOUT: Final = 60.0


class Admin:
    """AdminService, and what people ask of LeaderService.

    Answers are the plain objects of `keyturn.views`. All take `timeout`, seconds.
    """

    def __init__(self, unary: Unary) -> None:
        self._unary = unary

    def list_queues(
        self,
        *,
        name_contains: str = "",
        page_size: int = 0,
        page_token: str = "",
        stuck_for: float | None = None,
        timeout: float = _TIMEOUT,
    ) -> Call[views.QueuePage]:
        """Tell of the queues, by name: policies and counts. `page_size` 0: as many as fit into one answer.

        `stuck_for`: only those in which a key is parked, that are paused, that have dead letters, or in which somebody
        waits for at least so many seconds.
        """
        return self._ask(
            "ListQueues",
            lambda: pb.ListQueuesRequest(
                name_contains=name_contains,
                page_size=page_size,
                page_token=page_token,
                stuck_for=None if stuck_for is None else duration(stuck_for),
            ),
            pb.ListQueuesResponse,
            _as(views.QueuePage),
            timeout,
        )

    def retry_now(
        self,
        queue: str,
        *,
        key: str = "",
        item_id: str = "",
        reason: str = "",
        timeout: float = _TIMEOUT,
    ) -> Call[views.RetriedNow]:
        """End what only time keeps back, of a key or of an item: a back-off, a delay, a `min_interval`."""
        return self._ask(
            "RetryNow",
            lambda: pb.RetryNowRequest(queue=queue, reason=reason, key=key, item_id=item_id),
            pb.RetryNowResponse,
            _as(views.RetriedNow),
            timeout,
        )

    def get_cluster(self, *, timeout: float = _TIMEOUT) -> Call[views.Cluster]:
        """Tell how the sidecar sees its cluster. One that stands alone refuses (`NO_CLUSTER`)."""
        return self._ask("GetCluster", pb.GetClusterRequest, pb.GetClusterResponse, _as(views.Cluster), timeout)

    def move_partition(
        self,
        partition: int,
        member: str,
        *,
        reason: str = "",
        timeout: float = _MOVE_TIMEOUT,
    ) -> Call[views.MovedPartition]:
        """Make a member (its id, the beginning of it, or its name) the home of a partition, and wait until it is."""
        return self._ask(
            "MovePartition",
            lambda: pb.MovePartitionRequest(reason=reason, partition=partition, member=member),
            pb.MovePartitionResponse,
            _as(views.MovedPartition),
            timeout,
        )

    def release_partition(
        self, partition: int, *, reason: str = "", timeout: float = _TIMEOUT
    ) -> Call[views.MovedPartition]:
        """Put a partition that was moved by hand where the cluster likes again."""
        return self._ask(
            "MovePartition",
            lambda: pb.MovePartitionRequest(reason=reason, partition=partition, anywhere=True),
            pb.MovePartitionResponse,
            _as(views.MovedPartition),
            timeout,
        )

    def finalize_cluster(self, *, reason: str = "", timeout: float = _TIMEOUT) -> Call[views.Finalized]:
        """Fix the format of rows after an upgrade: sidecars that cannot read it do not join from then on."""
        return self._ask(
            "FinalizeCluster",
            lambda: pb.FinalizeClusterRequest(reason=reason),
            pb.FinalizeClusterResponse,
            _as(views.Finalized),
            timeout,
        )

    def route_queue(
        self,
        queue: str,
        *,
        group: str | None = None,
        spread: int | None = None,
        accept_loss: bool = False,
        reason: str = "",
        timeout: float = _MOVE_TIMEOUT,
    ) -> Call[views.RoutedQueue]:
        """Tell where a queue lives in the cluster, or change that while it is empty (else `NOT_ROUTABLE`)."""
        return self._ask(
            "RouteQueue",
            lambda: pb.RouteQueueRequest(queue=queue, reason=reason, group=group, spread=spread, accept_loss=accept_loss),
            pb.RouteQueueResponse,
            _as(views.RoutedQueue),
            timeout,
        )

    def restore_partitions(
        self,
        partitions: Sequence[int] = (),
        *,
        accept_loss: bool = False,
        reason: str = "",
        timeout: float = _RESTORE_TIMEOUT,
    ) -> Call[views.Restore]:
        """Write partitions back from the memory of live members, after the store was emptied; none named: all that are lost."""
        return self._ask(
            "RestorePartitions",
            lambda: pb.RestorePartitionsRequest(reason=reason, partitions=partitions, accept_loss=accept_loss),
            pb.RestorePartitionsResponse,
            _as(views.Restore),
            timeout,
        )

    def list_keys(
        self,
        queue: str,
        *,
        state: str | None = None,
        page_size: int = 100,
        page_token: str = "",
        timeout: float = _TIMEOUT,
    ) -> Call[views.KeyPage]:
        """List keys that are in one state (`PROCESS`, …), longest in it first; None: any but INIT."""
        lane = pb.LANE_STATE_UNSPECIFIED if state is None else f"LANE_STATE_{state}"
        return self._ask(
            "ListKeys",
            lambda: pb.ListKeysRequest(queue=queue, state=lane, page_size=page_size, page_token=page_token),
            pb.ListKeysResponse,
            _as(views.KeyPage),
            timeout,
        )

    def explain_key(self, queue: str, key: str, *, timeout: float = _TIMEOUT) -> Call[views.KeyExplanation]:
        """Say in which state a key is, who holds it, who waits, and why it does not move."""
        return self._ask(
            "ExplainKey",
            lambda: pb.ExplainKeyRequest(queue=queue, key=key),
            pb.ExplainKeyResponse,
            _as(views.KeyExplanation),
            timeout,
        )

    def get_item(
        self, queue: str, item_id: str, *, with_payload: bool = False, timeout: float = _TIMEOUT
    ) -> Call[views.ItemReport]:
        """Tell what became of one item; `with_payload` also what it carries, which needs a right of its own."""
        return self._ask(
            "GetItem",
            lambda: pb.GetItemRequest(queue=queue, item_id=item_id, with_payload=with_payload),
            pb.GetItemResponse,
            _as(views.ItemReport),
            timeout,
        )

    def list_sessions(
        self,
        *,
        id_contains: str = "",
        page_size: int = 100,
        page_token: str = "",
        timeout: float = _TIMEOUT,
    ) -> Call[views.SessionPage]:
        """List who is connected, and what they hold."""
        return self._ask(
            "ListSessions",
            lambda: pb.ListSessionsRequest(id_contains=id_contains, page_size=page_size, page_token=page_token),
            pb.ListSessionsResponse,
            _as(views.SessionPage),
            timeout,
        )

    def get_server(self, *, timeout: float = _TIMEOUT) -> Call[views.Server]:
        """Tell what the sidecar that is asked is, and what one may do there."""
        return self._ask("GetServer", pb.GetServerRequest, pb.GetServerResponse, _as(views.Server), timeout)

    def evict_holder(
        self, queue: str, key: str, *, discard: bool = False, reason: str = "", timeout: float = _TIMEOUT
    ) -> Call[views.Eviction]:
        """End the live turn of a key; its items go back without counting an attempt, or with `discard` are discarded."""
        return self._ask(
            "EvictHolder",
            lambda: pb.EvictHolderRequest(queue=queue, reason=reason, key=key, discard=discard),
            pb.EvictHolderResponse,
            _as(views.Eviction),
            timeout,
        )

    def resume_key(self, queue: str, key: str, *, reason: str = "", timeout: float = _TIMEOUT) -> Call[views.Resumed]:
        """Let a parked key go on."""
        return self._ask(
            "ResumeKey",
            lambda: pb.ResumeKeyRequest(queue=queue, reason=reason, key=key),
            pb.ResumeKeyResponse,
            _as(views.Resumed),
            timeout,
        )

    def pause_queue(self, queue: str, *, reason: str = "", timeout: float = _TIMEOUT) -> Call[None]:
        """Stop a queue from giving turns; turns that live go on."""
        return self._ask(
            "PauseQueue", lambda: pb.PauseQueueRequest(queue=queue, reason=reason), pb.PauseQueueResponse, _nothing, timeout
        )

    def resume_queue(self, queue: str, *, reason: str = "", timeout: float = _TIMEOUT) -> Call[None]:
        """Let a paused queue go on."""
        return self._ask(
            "ResumeQueue",
            lambda: pb.ResumeQueueRequest(queue=queue, reason=reason),
            pb.ResumeQueueResponse,
            _nothing,
            timeout,
        )

    def set_limits(
        self,
        queue: str,
        *,
        rate: views.Rate | None = None,
        max_in_flight: int | None = None,
        reason: str = "",
        timeout: float = _TIMEOUT,
    ) -> Call[views.Limits]:
        """Change limits of a queue while it runs; what is None stays, 0 takes a limit away."""
        return self._ask(
            "SetLimits",
            lambda: pb.SetLimitsRequest(queue=queue, reason=reason, rate=_rate(rate), max_in_flight=max_in_flight),
            pb.SetLimitsResponse,
            _as(views.Limits),
            timeout,
        )

    def list_dead_letters(
        self,
        queue: str,
        *,
        key: str | None = None,
        page_size: int = 100,
        page_token: str = "",
        timeout: float = _TIMEOUT,
    ) -> Call[views.DeadLetterPage]:
        """List dead letters in the order of their submission."""
        return self._ask(
            "ListDeadLetters",
            lambda: pb.ListDeadLettersRequest(queue=queue, key=key, page_size=page_size, page_token=page_token),
            pb.ListDeadLettersResponse,
            _as(views.DeadLetterPage),
            timeout,
        )

    def redrive(
        self,
        queue: str,
        *,
        key: str | None = None,
        item_ids: Sequence[str] = (),
        reason: str = "",
        timeout: float = _TIMEOUT,
    ) -> Call[int]:
        """Put dead letters back before what waits, attempts from 1. No ids: all."""
        return self._ask(
            "Redrive",
            lambda: pb.RedriveRequest(queue=queue, reason=reason, key=key, item_ids=item_ids),
            pb.RedriveResponse,
            lambda message: message.redriven,
            timeout,
        )

    def discard(
        self,
        queue: str,
        *,
        key: str | None = None,
        item_ids: Sequence[str] = (),
        waiting: bool = False,
        reason: str = "",
        timeout: float = _TIMEOUT,
    ) -> Call[int]:
        """Remove dead letters, and with `waiting` also items that wait. No ids: all."""
        return self._ask(
            "Discard",
            lambda: pb.DiscardRequest(queue=queue, reason=reason, key=key, item_ids=item_ids, waiting=waiting),
            pb.DiscardResponse,
            lambda message: message.discarded,
            timeout,
        )

    def get_leader(self, group: str, *, timeout: float = _TIMEOUT) -> Call[views.LeaderGroup]:
        """Say who leads a group, asked where that is decided, never a cache."""
        return self._unary.ask(
            "LeaderService/GetLeader",
            lambda: leaders.GetLeaderRequest(group=group),
            leaders.GetLeaderResponse,
            group_of,
            timeout,
        )

    def yield_leader(self, group: str, *, reason: str = "", timeout: float = _TIMEOUT) -> Call[views.YieldAsked | None]:
        """Ask the leader of a group to hand over, and tell who was asked. None: nobody leads."""
        return self._unary.ask(
            "LeaderService/YieldLeader",
            lambda: leaders.YieldLeaderRequest(group=group, reason=reason),
            leaders.YieldLeaderResponse,
            asked_of,
            timeout,
        )

    def _ask(
        self, method: str, request: Callable[[], Message], answer: type[M], read: Callable[[M], A], timeout: float
    ) -> Call[A]:
        return self._unary.ask(f"AdminService/{method}", request, answer, read, timeout)


def _as(kind: type[A]) -> Callable[[Message], A]:
    return lambda message: plain(kind, message)


def _nothing(_: Message) -> None:
    """There is nothing in the answer."""


def _rate(rate: views.Rate | None) -> pb.Rate | None:
    return None if rate is None else pb.Rate(per_second=rate.per_second, burst=rate.burst)
