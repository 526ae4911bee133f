"""S449: what an application that traces gets of items and attempts."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Link, SpanContext, SpanKind, StatusCode

import keyturn
from keyturn import Client, Done, FollowUp, NewItem, Work, done
from keyturn._tracing.trace_parent import read_trace_parent, with_trace_parent
from tests.spans import CASES, Listening, attributes_of, context_of, errors_of, headers_of, written


@pytest.mark.parametrize("case", CASES["stamped"], ids=lambda case: case["what"])
def test_what_is_written(case: dict[str, Any]) -> None:
    headers = headers_of(case)
    stamped = with_trace_parent(NewItem(headers=headers), context_of(case))
    kept = {name: value for name, value in headers.items() if name not in case.get("drops", [])}
    assert stamped.headers == {**kept, **case["adds"]}


@pytest.mark.parametrize("case", CASES["read"], ids=lambda case: case["what"])
def test_what_is_read(case: dict[str, Any]) -> None:
    read = read_trace_parent(case["headers"])
    assert read is not None
    assert (read, read.is_remote) == (context_of(case), True)
    assert (read.trace_flags, read.trace_state.to_header()) == (case["flags"], case["state"])


@pytest.mark.parametrize("wrong", CASES["notRead"])
def test_what_is_no_context_is_not_read(wrong: str) -> None:
    assert read_trace_parent({"traceparent": wrong}) is None


@pytest.mark.parametrize("headers", [5, {"a": 1}, {1: "a"}, {"a": "\ud800"}])
def test_what_are_no_headers_is_refused_by_name_and_not_by_tracing(traced: Client, otel: Listening, headers: Any) -> None:
    with otel.tracer.start_as_current_span("order"), pytest.raises(keyturn.KeyturnError) as refused:
        traced.submit("orders", NewItem(headers=headers))
    assert [one.field for one in refused.value.violations] == ["items[0].headers"]


def submitted_under(client: Client, queue: str, otel: Listening) -> tuple[list[str], SpanContext]:
    """Their ids, and the context of the span that submitted them."""
    with otel.tracer.start_as_current_span("order") as order, client.producer(queue, count=1) as producer:
        one = client.submit(queue, NewItem(b"1", key="a"))
        two = client.submit_many(queue, [NewItem(b"2", key="a"), NewItem(b"3", key="a")])
        last = producer.add(NewItem(b"4", key="a")).result(10)
    return [one.item_id, *(each.item_id for each in two), last.item_id], order.get_span_context()


def links_of(span: ReadableSpan) -> list[tuple[int, int, dict[str, object]]]:
    links: list[Link] = list(span.links)
    return [(link.context.trace_id, link.context.span_id, dict(link.attributes or {})) for link in links]


def test_every_way_to_submit_writes_it_and_an_attempt_links_to_each_of_its_items(
    traced: Client, queue: str, otel: Listening
) -> None:
    ids, order = submitted_under(traced, queue, otel)
    plain = traced.submit_batch(queue, [NewItem(b"5", key="a")])
    # Not below the span in which it began to consume: that one ends long before most attempts.
    with otel.tracer.start_as_current_span("start"), traced.consume(queue, lambda _: None, max_items_per_turn=10):
        for item_id in [*ids, plain[0].item_id]:
            traced.result(queue, item_id, timeout=10)
    (attempt,) = otel.named(f"process {queue}")
    expected = [(order.trace_id, order.span_id, {"messaging.message.id": item_id}) for item_id in ids]
    assert links_of(attempt) == expected
    assert attempt.parent is None
    assert attempt.context is not None
    assert attempt.context.trace_id != order.trace_id
    attributes = attributes_of(attempt)
    assert attributes["messaging.batch.message_count"] == 5
    assert "messaging.message.id" not in attributes


def test_an_attempt_is_a_span_of_a_consumer_and_a_retry_is_another(traced: Client, otel: Listening) -> None:
    active: list[SpanContext] = []
    follow_up = NewItem(b"mail", item_id="mail")

    def handle(work: Work) -> Done:
        active.append(trace.get_current_span().get_span_context())
        if work.attempt == 1:
            raise TypeError("no stock")
        return done(follow_ups=[FollowUp("mails", follow_up)])

    with otel.tracer.start_as_current_span("order") as order:
        item_id = traced.submit("fast", NewItem(b"1", key="ada")).item_id
    with traced.consume("fast", handle):
        traced.result("fast", item_id, timeout=10)
    first, second = otel.named("process fast")
    assert [span.context for span in (first, second)] == active
    assert (first.kind, first.status.status_code, first.status.description) == (
        SpanKind.CONSUMER,
        StatusCode.ERROR,
        "no stock",
    )
    assert errors_of(first) == ["no stock"]
    assert (second.status.status_code, errors_of(second)) == (StatusCode.UNSET, [])
    context = order.get_span_context()
    for span in (first, second):
        assert links_of(span) == [(context.trace_id, context.span_id, {"messaging.message.id": item_id})]
    token = cast(int, attributes_of(first)["keyturn.token"])
    assert token > 0
    assert attributes_of(first) == {
        "messaging.system": "keyturn",
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.destination.name": "fast",
        "messaging.message.id": item_id,
        "keyturn.attempt": 1,
        "keyturn.token": token,
        "keyturn.outcome": "retry",
        "error.type": "TypeError",
    }
    assert (attributes_of(second)["keyturn.attempt"], attributes_of(second)["keyturn.outcome"]) == (2, "ack")
    mail = traced.acquire("mails", wait=0)[0].items[0]
    assert mail.headers == {"traceparent": written(active[1])}


async def test_with_asyncio_too(address: str, queue: str, otel: Listening) -> None:
    active: list[SpanContext] = []

    async def handle(work: keyturn.aio.Work) -> None:
        await asyncio.sleep(0)
        active.append(trace.get_current_span().get_span_context())

    async with keyturn.aio.connect(address, tracing=otel.tracing(parent=True, key=True)) as client:
        with otel.tracer.start_as_current_span("order") as order:
            item_id = (await client.submit(queue, NewItem(b"1", key="ada"))).item_id
            # Its span is not that of the attempts: it ends long before them.
            consumer = client.consume(queue, handle)
        await client.result(queue, item_id, timeout=10)
        await consumer.stop()
        with otel.tracer.start_as_current_span("around") as around:
            async with client.turn(queue, "ada"):
                active.append(trace.get_current_span().get_span_context())
            assert trace.get_current_span() is around
    (attempt,), (turn,) = otel.named(f"process {queue}"), otel.named(f"turn {queue}")
    assert [attempt.context, turn.context] == active
    assert attempt.parent is not None
    assert (written(attempt.parent), attempt.parent.is_remote) == (written(order.get_span_context()), True)
    assert turn.parent == around.get_span_context()
    assert links_of(attempt) == []
    assert attributes_of(attempt)["keyturn.key"] == attributes_of(turn)["keyturn.key"] == "ada"


ENDS: list[tuple[str, BaseException, str, list[str], str | None]] = [
    ("fast", keyturn.RetryLater(0.01, "later"), "retry", ["later"], "RetryLater"),
    ("fast", keyturn.DeadLetter("never"), "dead_letter", ["never"], "DeadLetter"),
    ("single", ValueError("once too often"), "dead_letter", ["once too often"], "ValueError"),
    ("fast", keyturn.Release(), "release", [], None),
]


@pytest.mark.parametrize(("queue", "error", "outcome", "errors", "kind"), ENDS)
def test_an_attempt_says_how_it_ended(
    traced: Client, otel: Listening, queue: str, error: BaseException, outcome: str, errors: list[str], kind: str | None
) -> None:
    raised = threading.Event()

    def handle(_: Work) -> None:
        if not raised.is_set():
            raised.set()
            raise error

    with traced.consume(queue, handle):
        item_id = traced.submit(queue, NewItem(b"1")).item_id
        while traced.await_item(queue, item_id, wait=10).state not in ("done", "dead"):
            pass
    first = otel.named(f"process {queue}")[0]
    attributes = attributes_of(first)
    assert (attributes["keyturn.outcome"], attributes.get("error.type")) == (outcome, kind)
    assert errors_of(first) == errors
    assert (first.status.status_code == StatusCode.ERROR) == (kind is not None)


def test_an_attempt_says_that_its_turn_was_lost(traced: Client, queue: str, otel: Listening) -> None:
    def handle(work: Work) -> None:
        traced.admin.evict_holder(queue, "ada")
        assert work.stopping.wait(10)

    told = threading.Event()
    with traced.consume(queue, handle, on_error=lambda _: told.set()) as consumer:
        traced.submit(queue, NewItem(b"1", key="ada"))
        assert told.wait(10)
        consumer.stop(0)
    lost = otel.named(f"process {queue}")[0]
    assert attributes_of(lost)["keyturn.outcome"] == "lost"
    assert attributes_of(lost)["error.type"] == "TurnLostError"


def test_an_attempt_that_a_stop_cut_off_says_so(traced: Client, queue: str, otel: Listening) -> None:
    begun, over = threading.Event(), threading.Event()

    def handle(_: Work) -> None:
        begun.set()
        over.wait(10)

    consumer = traced.consume(queue, handle)
    traced.submit(queue, NewItem(b"1"))
    assert begun.wait(10)
    stopping = threading.Thread(target=lambda: consumer.stop(0))
    stopping.start()
    stopping.join(10)
    over.set()
    traced.close()
    (span,) = otel.named(f"process {queue}")
    assert attributes_of(span)["keyturn.outcome"] == "release"
    assert attributes_of(span)["error.type"] == "ConsumerStoppedError"
