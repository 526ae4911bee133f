"""What `client.admin` shows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

import keyturn
from keyturn import NewItem, views
from keyturn._gen import admin_pb2 as pb
from keyturn._gen import leader_pb2 as leaders
from keyturn.aio import Client

SHOWN: list[tuple[type[Any], Any]] = [
    (views.Rate, pb.Rate),
    (views.Retry, pb.Retry),
    (views.Policy, pb.Policy),
    (views.QueueInfo, pb.QueueInfo),
    (views.QueuePage, pb.ListQueuesResponse),
    (views.KeyInfo, pb.KeyInfo),
    (views.KeyPage, pb.ListKeysResponse),
    (views.Holder, pb.Holder),
    (views.LineEntry, pb.LineEntry),
    (views.KeyExplanation, pb.ExplainKeyResponse),
    (views.ItemReport, pb.GetItemResponse),
    (views.SessionTurn, pb.SessionTurn),
    (views.SessionInfo, pb.SessionInfo),
    (views.SessionPage, pb.ListSessionsResponse),
    (views.Right, pb.Right),
    (views.LimitUse, pb.LimitUse),
    (views.Server, pb.GetServerResponse),
    (views.Eviction, pb.EvictHolderResponse),
    (views.RetriedNow, pb.RetryNowResponse),
    (views.Resumed, pb.ResumeKeyResponse),
    (views.Limits, pb.SetLimitsResponse),
    (views.DeadItem, pb.DeadLetter),
    (views.ClusterMember, pb.ClusterMember),
    (views.PartitionHome, pb.PartitionHome),
    (views.Cluster, pb.GetClusterResponse),
    (views.MovedPartition, pb.MovePartitionResponse),
    (views.Finalized, pb.FinalizeClusterResponse),
    (views.QueueRoute, pb.QueueRoute),
    (views.RoutedQueue, pb.RouteQueueResponse),
    (views.RestoredPartition, pb.RestoredPartition),
    (views.Restore, pb.RestorePartitionsResponse),
    (views.Unavailable, pb.Unavailable),
    (views.DeadLetterPage, pb.ListDeadLettersResponse),
    (views.Leader, leaders.Leader),
    (views.LeaderGroup, leaders.GetLeaderResponse),
    (keyturn.Predecessor, leaders.Predecessor),
]


@pytest.mark.parametrize(("kind", "message"), SHOWN, ids=lambda one: one.__name__)
def test_every_field_of_the_proto_is_shown(kind: type[Any], message: Any) -> None:
    assert set(kind._fields) == set(message.DESCRIPTOR.fields_by_name)


async def test_a_queue_and_its_keys_are_plain_objects(aclient: Client, queue: str, key: str) -> None:
    held = await aclient.enqueue(queue, key)
    assert held.turn is not None
    waits = aclient.enqueue(queue, key, wait=60, ticket="t")
    while (await aclient.admin.explain_key(queue, key)).waiting == 0:
        pass
    (info,) = (await aclient.admin.list_queues(name_contains=queue)).queues
    assert (info.name, info.states["BLOCK"], info.states["INIT"], info.live_turns, info.paused) == (queue, 1, 0, 1, False)
    assert (info.policy.lease, info.policy.max_hold, info.policy.rate) == (20.0, None, None)
    assert (info.policy.retry.max_attempts, info.policy.retry.jitter) == (10, "full")
    (listed,) = (await aclient.admin.list_keys(queue, state="BLOCK")).keys
    assert (listed.key, listed.state, isinstance(listed.since, datetime)) == (key, "BLOCK", True)
    told = await aclient.admin.explain_key(queue, key)
    assert told.holder is not None
    assert (told.holder.token, told.holder.lease_left, told.holder.held_for_ticket) == (held.turn.token, None, None)
    assert [(one.kind, one.id, one.last_error, one.after) for one in told.line] == [("caller", "t", None, ())]
    idle = await aclient.admin.explain_key(queue, key + "2")
    assert (idle.state, idle.holder, idle.since, idle.until) == ("INIT", None, None, None)
    limits = await aclient.admin.set_limits(queue, rate=views.Rate(5.0, 2), max_in_flight=7)
    assert limits == views.Limits(views.Rate(5.0, 2), 7)
    evicted = await aclient.admin.evict_holder(queue, key)
    assert (evicted.evicted, evicted.token) == (True, held.turn.token)
    waits.leave()


def test_dead_letters_are_plain_objects(client: keyturn.Client, key: str) -> None:
    submitted = client.submit("single", NewItem(b"1", key=key, headers={"h": "v"}))
    (delivery,) = client.acquire("single", wait=5)
    client.nack("single", key, delivery.turn.token, "dead_letter", error="no good")
    (dead,) = client.admin.list_dead_letters("single", key=key).dead_letters
    assert (dead.item.item_id, dead.item.payload, dict(dead.item.headers)) == (submitted.item_id, b"1", {"h": "v"})
    assert (dead.key, dead.attempts, dead.last_error, dead.cause) == (key, 1, "no good", "refused")
    assert client.admin.redrive("single", key=key) == 1
    assert client.admin.discard("single", key=key, waiting=True) == 1
    client.admin.pause_queue("single")
    client.admin.resume_queue("single")
    assert client.admin.resume_key("single", key).resumed is False


async def test_an_item_the_sessions_and_the_sidecar_are_plain_objects(aclient: Client, queue: str, key: str) -> None:
    await aclient.submit(queue, NewItem(b"x", key=key, item_id="looked-for"))
    told = await aclient.admin.get_item(queue, "looked-for", with_payload=True)
    assert (told.state, told.key, told.payload_bytes, told.after) == ("WAITING", key, 1, ())
    assert told.item is not None
    assert told.item.payload == b"x"
    assert (await aclient.admin.get_item(queue, "never")).state == "UNKNOWN"
    assert (await aclient.admin.list_sessions(id_contains="no session has this")).sessions == ()
    server = await aclient.admin.get_server()
    assert (server.auth, server.cluster, isinstance(server.started_at, datetime)) == (False, "", True)
    assert "sessions" in [one.limit for one in server.limits]


async def test_why_something_is_changed_is_sent_along(aclient: Client, queue: str) -> None:
    await aclient.admin.pause_queue(queue, reason="the receiver is down")
    assert [one.name for one in (await aclient.admin.list_queues(stuck_for=3600)).queues if one.name == queue] == [queue]
    with pytest.raises(keyturn.KeyturnError, match="reason"):
        await aclient.admin.resume_queue(queue, reason="r" * 257)
    await aclient.admin.resume_queue(queue, reason="it is back")
