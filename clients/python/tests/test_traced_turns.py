"""S449: what it gets of turns, and what one that does not trace is spared."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.trace import NonRecordingSpan, SpanKind, StatusCode

import keyturn
from keyturn import Client, NewItem, Tracing
from tests.spans import Listening, attributes_of, context_of, errors_of, events_of, written


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
