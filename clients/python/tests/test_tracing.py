"""S449: what an application that traces gets of this client, and what one that does not is spared."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags, TraceState

import keyturn
from keyturn import Client, FollowUp, NewItem, Outcome, Tracing, Work
from keyturn._tracing.trace_parent import read_trace_parent, with_trace_parent
from tests.sidecar import ROOT

CASES = json.loads((ROOT / "clients/conformance/tracing.json").read_text())


class Listening:
    """An SDK that keeps what it is told."""

    def __init__(self) -> None:
        self.provider = TracerProvider(shutdown_on_exit=False)
        self._exporter = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("test")

    def tracing(self, **options: Any) -> Tracing:
        return Tracing(provider=self.provider, **options)

    def named(self, name: str) -> list[ReadableSpan]:
        """In the order of their beginning."""
        found = [span for span in self._exporter.get_finished_spans() if span.name == name]
        return sorted(found, key=lambda span: span.start_time or 0)


@pytest.fixture
def otel() -> Listening:
    return Listening()


@pytest.fixture
def traced(address: str, otel: Listening) -> Iterator[Client]:
    with keyturn.connect(address, tracing=otel.tracing()) as client:
        yield client


def context_of(case: dict[str, Any]) -> SpanContext:
    ids = CASES["span"]
    state = TraceState.from_header([case["state"]]) if case["state"] else None
    return SpanContext(int(ids["traceId"], 16), int(ids["spanId"], 16), True, TraceFlags(case["flags"]), state)


def headers_of(case: dict[str, Any]) -> dict[str, str]:
    padding = case.get("padding", {})
    headers = dict(case["headers"])
    headers.update({f"h{at}": "" for at in range(padding.get("headers", 0))})
    if "bytes" in padding:
        headers["long"] = "x" * (padding["bytes"] - 4)
    return headers


def written(context: SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def attributes_of(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def errors_of(span: ReadableSpan) -> list[object]:
    return [(event.attributes or {})["exception.message"] for event in span.events if event.name == "exception"]


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

    def handle(work: Work) -> Outcome:
        active.append(trace.get_current_span().get_span_context())
        if work.attempt == 1:
            raise TypeError("no stock")
        return Outcome(follow_ups=[FollowUp("mails", follow_up)])

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


def events_of(span: ReadableSpan) -> list[str]:
    return [event.name for event in span.events]


def test_a_turn_is_a_span_below_the_callers(traced: Client, queue: str, otel: Listening) -> None:
    with otel.tracer.start_as_current_span("around") as around:
        outcome = traced.with_turn(queue, "ada", lambda _: trace.get_current_span().get_span_context())
        assert trace.get_current_span() is around
    assert outcome.status == "done"
    (span,) = otel.named(f"turn {queue}")
    assert (span.context, span.parent, span.kind) == (outcome.value, around.get_span_context(), SpanKind.INTERNAL)
    assert events_of(span) == ["waiting", "granted"]
    assert attributes_of(span) == {"keyturn.queue": queue, "keyturn.token": outcome.token, "keyturn.outcome": "done"}


def test_a_turn_that_is_lost_says_so(traced: Client, queue: str, otel: Listening) -> None:
    with pytest.raises(keyturn.TurnLostError), traced.turn(queue, "ada") as turn:
        traced.admin.evict_holder(queue, "ada")
        assert turn.stopping.wait(10)
    (span,) = otel.named(f"turn {queue}")
    assert events_of(span)[:3] == ["waiting", "granted", "lost"]
    assert [event.attributes for event in span.events if event.name == "lost"] == [{"keyturn.loss": "evicted"}]
    assert (attributes_of(span)["keyturn.outcome"], span.status.status_code) == ("lost", StatusCode.ERROR)


def test_a_turn_records_what_its_block_raises(traced: Client, queue: str, otel: Listening) -> None:
    with pytest.raises(ValueError, match="boom"), traced.turn(queue, "ada"):
        raise ValueError("boom")
    (span,) = otel.named(f"turn {queue}")
    assert (attributes_of(span)["keyturn.outcome"], errors_of(span)) == ("failed", ["boom"])
    assert not trace.get_current_span().get_span_context().is_valid


def test_a_turn_that_does_not_come_says_so(traced: Client, queue: str, otel: Listening) -> None:
    with traced.turn(queue, "ada"):
        assert traced.with_turn(queue, "ada", print, wait=0).status == "blocked"
    traced.with_turn("once", queue, lambda _: None, idempotency_key=queue)
    assert traced.with_turn("once", queue, print, idempotency_key=queue).status == "declined"
    blocked = next(span for span in otel.named(f"turn {queue}") if attributes_of(span)["keyturn.outcome"] == "blocked")
    assert (events_of(blocked), blocked.status.status_code) == (["waiting"], StatusCode.UNSET)
    assert attributes_of(otel.named("turn once")[-1])["keyturn.outcome"] == "declined"


def test_of_threads_that_submit_at_once_each_writes_its_own(traced: Client, queue: str, otel: Listening) -> None:
    """They share one loop, which is woken by one of them for all."""
    barrier = threading.Barrier(8, timeout=10)

    def submit(at: int) -> tuple[str, str]:
        barrier.wait()
        if at % 2:
            return traced.submit(queue, NewItem()).item_id, ""
        with otel.tracer.start_as_current_span("order") as span:
            context = span.get_span_context()
            return traced.submit(queue, NewItem()).item_id, written(context)

    with ThreadPoolExecutor(8) as pool:
        sent = dict(pool.map(submit, range(8)))
    deliveries = traced.acquire(queue, max_turns=8, wait=0)
    assert {item.item_id: item.headers.get("traceparent", "") for one in deliveries for item in one.items} == sent


def test_without_an_sdk_nothing_is_made(monkeypatch: pytest.MonkeyPatch, address: str, queue: str, otel: Listening) -> None:
    registered: list[trace.TracerProvider] = [trace.ProxyTracerProvider()]
    asked: list[int] = []

    def provider() -> trace.TracerProvider:
        asked.append(1)
        return registered[0]

    monkeypatch.setattr(trace, "get_tracer_provider", provider)
    with keyturn.connect(address) as client:
        client.with_turn(queue, "ada", lambda _: None)
        assert (otel.named(f"turn {queue}"), len(asked)) == ([], 1)
        # One that is registered later is found, once.
        registered[0] = otel.provider
        client.with_turn(queue, "ada", lambda _: None)
        client.with_turn(queue, "ada", lambda _: None)
        assert (len(otel.named(f"turn {queue}")), len(asked)) == (2, 2)


def test_a_span_around_is_written_without_an_sdk_as_well(address: str, queue: str) -> None:
    """The application may hand on a context that it got, and make no spans itself."""
    context = context_of({"flags": 0, "state": ""})
    with keyturn.connect(address) as client, trace.use_span(NonRecordingSpan(context)):
        client.submit(queue, NewItem())
        (item,) = client.acquire(queue, wait=0)[0].items
    assert item.headers["traceparent"].endswith("-00")
    with keyturn.connect(address, tracing=False) as client, trace.use_span(NonRecordingSpan(context)):
        client.submit(queue, NewItem())
        (item,) = client.acquire(queue, wait=0)[0].items
    assert item.headers == {}


def test_without_the_api_nobody_traces_and_who_asks_for_it_is_told(address: str) -> None:
    program = f"""
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "opentelemetry":
            raise ModuleNotFoundError("no", name=name)

sys.meta_path.insert(0, Nowhere())
import keyturn
with keyturn.connect({address!r}) as client:
    client.submit("plain", keyturn.NewItem())
with keyturn.connect({address!r}, tracing=False):
    pass
try:
    keyturn.connect({address!r}, tracing=True)
except keyturn.WrongArgumentError as error:
    print(error)
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    told = "tracing is True, and opentelemetry-api is not installed; the extra `tracing` of the package brings it"
    assert ran.stdout.strip() == told


class Broken(SpanProcessor):
    def on_start(self, span: object, parent_context: object = None) -> None:
        raise RuntimeError("the processor is broken")


def test_a_provider_that_raises_breaks_nothing(address: str, queue: str) -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Broken())
    with keyturn.connect(address, tracing=Tracing(provider=provider)) as client:
        assert client.with_turn(queue, "ada", lambda _: 1).status == "done"
        item_id = client.submit(queue, NewItem(b"1")).item_id
        with client.consume(queue, lambda _: b"done"):
            assert client.result(queue, item_id, timeout=10) == b"done"


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: keyturn.connect(tracing="yes"), "tracing is 'yes'; allowed are True, False or a Tracing"),  # type: ignore[arg-type]
    (lambda: Tracing(key=1), "tracing.key is 1; allowed is True or False"),  # type: ignore[arg-type]
    (lambda: Tracing(parent="x"), "tracing.parent is 'x'; allowed is True or False"),  # type: ignore[arg-type]
    (lambda: Tracing(provider=5), "tracing.provider is 5; needed is a TracerProvider of opentelemetry"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "told"), WRONG)
def test_what_is_wrong_with_tracing_is_told(make: Callable[[], object], told: str) -> None:
    with pytest.raises(keyturn.WrongArgumentError) as refused:
        make()
    assert str(refused.value) == told


def test_a_tracer_is_made_of_every_form_of_the_setting() -> None:
    for tracing in (None, True, Tracing()):
        keyturn.connect("127.0.0.1:1", tracing=tracing).close()
