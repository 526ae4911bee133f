"""The client for threads."""

from __future__ import annotations

import secrets
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Final, Literal, TypeVar

from keyturn import aio
from keyturn._connection.channel import fork
from keyturn._consume.consumption import Consumption
from keyturn._consume.options import ConsumeSettings, Trouble, consume_settings
from keyturn._consume.turn_options import ResultOf, TurnDone, TurnOutcome, not_granted, turn_options
from keyturn._lead.leadership import LeadershipCore
from keyturn._lead.options import LeadSettings, Progress, metadata_of
from keyturn._produce.options import OnProducerError, producer_settings
from keyturn._produce.production import Production
from keyturn._produce.spool.options import Spool
from keyturn._sync.admin import Admin
from keyturn._sync.calls import Calls
from keyturn._sync.consumer import Consumer, Threads, Work
from keyturn._sync.handler_threads import HandlerThreads
from keyturn._sync.leadership import LeaderCareer, Leadership, Term
from keyturn._sync.leadership import Threads as LeaderThreads
from keyturn._sync.loop_thread import LoopThread
from keyturn._sync.open_clients import open_clients
from keyturn._sync.producer import Producer
from keyturn._sync.scoped_turn import ScopedTurn
from keyturn._sync.waiting import waiting
from keyturn._words.checks import callable_needed, plain_callable_needed, timeout_of
from keyturn._words.limits import MIB
from keyturn._words.options import Options, default_consumer_id
from keyturn.errors import NotGranted
from keyturn.words import (
    Durability,
    Order,
)

A = TypeVar("A")
V = TypeVar("V")

# More handlers than this are tasks, not threads.
_MOST_THREADS: Final = 1_000


class Client(Calls):
    """A client of one sidecar, for all threads of the process. Use it with `with`, or call `close`."""

    def __init__(self, address: str, options: Options) -> None:
        self.address = address
        self._is_closed = True
        self._closing = threading.Lock()
        fork.check()
        self._thread = LoopThread("keyturn")
        self._threads: set[HandlerThreads] = set()

        async def make() -> aio.Client:
            return aio.Client(address, options)

        try:
            self._aio = self._thread.call(make)
        except BaseException:
            self._thread.stop()
            raise
        self.admin = Admin(self._thread, self._aio.admin)
        """The calls for people: they look, and step in."""
        self._is_closed = False
        open_clients.add(self)

    def close(self, timeout: float | None = None) -> None:
        """Stop consumers and leaders (20 s for each), close producers (which flush), then refuse what is still open.

        `timeout` sets the time for all of them, seconds. Nothing is left when it returns: no thread, no socket; but a handler that
        goes on although it was told to stop keeps its thread until it ends. Twice is fine. In a handler, a phase of a leader or a
        callback of this client, which it would wait for, it raises RuntimeError, and nothing is closed.
        """
        timeout_of("timeout", timeout)
        if self._is_closed or self._thread.is_inherited:
            return
        self._thread.may_wait()
        if any(threads.has_current for threads in list(self._threads)):
            raise RuntimeError(
                "a handler or a leader must not wait for the end of its own client: let another thread do that"
            )
        with self._closing:
            if self._is_closed:
                return
            try:
                closer = threading.get_ident()
                self._thread.call(lambda: self._aio._core.close(timeout, closer))
            finally:
                self._is_closed = True
                open_clients.discard(self)
                for threads in list(self._threads):
                    threads.join()
                self._thread.stop()

    def __del__(self) -> None:
        if self._is_closed or self._thread.is_inherited:
            return
        self._is_closed = True
        warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)
        client = self._aio
        self._thread.end_with(lambda: client.close(0))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def turn(
        self,
        queue: str,
        key: str,
        *,
        wait: float | None = None,
        order: Order = "coalesce",
        lease: float | None = None,
        max_hold: float | None = None,
        idempotency_key: str = "",
        consumer_id: str = "",
    ) -> ScopedTurn:
        """The turn of a key as a scope: `with client.turn("orders", "ada") as turn`.

        `wait`: how long to wait, seconds, `math.inf` for ever; None: the queue's, with `order="strict"` 3. `order`: `coalesce`,
        or `strict`, where every call gets its turn in the order of arrival and none is declined. `lease`: life of the turn without
        renewal; None: kept by the session. `max_hold`: after this the block is told to stop (`turn.stopping`).
        `idempotency_key`: your business id, once done it is declined while the queue remembers it.

        Entering raises Declined, Blocked, or KeyturnError; the block ends with TurnLostError when its turn was lost.
        """
        options = turn_options(
            queue,
            key,
            wait=wait,
            order=order,
            lease=lease,
            max_hold=max_hold,
            idempotency_key=idempotency_key,
            consumer_id=consumer_id,
        )
        return ScopedTurn(self, self._thread, self._aio._base, options)

    def with_turn(
        self,
        queue: str,
        key: str,
        handler: Callable[[ScopedTurn], V],
        *,
        wait: float | None = None,
        order: Order = "coalesce",
        lease: float | None = None,
        max_hold: float | None = None,
        idempotency_key: str = "",
        consumer_id: str = "",
        result: ResultOf[V] | None = None,
    ) -> TurnOutcome[V]:
        """As `turn`, for a function; declined and blocked are told by `status`, not raised.

        `result` makes what is remembered with the idempotency key of what the handler returned.
        """
        callable_needed("handler", handler)
        if result is not None:
            callable_needed("result", result)
        scope = self.turn(
            queue,
            key,
            wait=wait,
            order=order,
            lease=lease,
            max_hold=max_hold,
            idempotency_key=idempotency_key,
            consumer_id=consumer_id,
        )
        try:
            scope.__enter__()
        except NotGranted as answer:
            return not_granted(answer)
        try:
            value = handler(scope)
            if result is not None:
                scope.result = result(value) or b""
        except BaseException as error:
            scope.__exit__(type(error), error, error.__traceback__)
            raise
        scope.__exit__(None, None, None)
        return TurnDone(value, scope.token)

    def consume(
        self,
        queues: str | Sequence[str],
        handler: Callable[[Work], object],
        *,
        concurrency: int = 1,
        max_items_per_turn: int = 1,
        wait: float = 30.0,
        lease: float | None = None,
        max_hold: float | None = None,
        settle_timeout: float = 30.0,
        consumer_id: str | None = None,
        on_error: Callable[[Trouble[Work]], object] | None = None,
    ) -> Consumer:
        """Hand items to a function, in threads, never more than `concurrency` turns (1 to 1,000) at once.

        What the handler returns is the result of its items; what it raises gives them back: RetryLater, DeadLetter,
        Release, and anything else as a retry with the queue's back-off. It is told to stop (`work.stopping`) when its turn
        is lost, after `max_hold`, and when a stop runs out of time. `wait`: how long one Acquire waits. `settle_timeout`:
        how long Ack and Nack are tried again while the sidecar is away. `on_error` is told of everything that goes wrong and
        does not end the consumer, as the log is, in the thread of the client: be short.
        """
        plain_callable_needed("handler", handler)
        settings: ConsumeSettings[Work] = consume_settings(
            queues,
            concurrency=concurrency,
            most=_MOST_THREADS,
            max_items_per_turn=max_items_per_turn,
            wait=wait,
            lease=lease,
            max_hold=max_hold,
            settle_timeout=settle_timeout,
            consumer_id=consumer_id,
            on_error=on_error,
        )
        threads = HandlerThreads(concurrency, f"keyturn-{settings.queues[0]}")
        self._threads.add(threads)

        async def start() -> Consumption[Work]:
            return self._aio._core.consume(settings, Threads(handler, threads))

        return Consumer(self, self._thread, self._thread.call(start), threads, lambda: self._threads.discard(threads))

    def lead(
        self,
        group: str,
        career: LeaderCareer,
        *,
        candidate_id: str = "",
        ttl: float = 5.0,
        margin: float | None = None,
        inaugurate_timeout: float = 30.0,
        hand_over_timeout: float = 10.0,
        metadata: Mapping[str, str] | None = None,
        progress: Progress = "timer",
        once: bool = False,
    ) -> Leadership:
        """Stand in a group, in which exactly one worker leads, and lead when the turn comes, until it is stopped.

        `career` has `execute(term)`, and if need be `inaugurate(term)`, before it, and `hand_over(term, reason)`, after it: what
        that returns, up to 64 KiB, is `term.predecessor.state` of the next leader. They run in a thread, and look at
        `term.stopping` and `term.lost`.
        `candidate_id`: one for one life of one worker; unset: host, process and something random. `ttl`: how long a term lives
        without a sign of life, seconds; `margin`: how long before that the worker is told that it is lost (a tenth, at most 2).
        `inaugurate_timeout`, `hand_over_timeout`: after these the term is lost. `metadata`: for people who ask who leads.
        `progress`: `timer`, that the process lives is the sign of life, or `manual`: `execute` gives it by `term.progress()`.
        `once`: do not stand again after the first term.
        """
        callable_needed("career.execute", getattr(career, "execute", None))
        settings = LeadSettings(
            group=group,
            candidate_id=candidate_id or f"{default_consumer_id()}/{secrets.token_urlsafe(9)}",
            ttl=ttl,
            margin=margin,
            inaugurate_timeout=inaugurate_timeout,
            hand_over_timeout=hand_over_timeout,
            metadata=metadata_of(metadata),
            progress=progress,
            once=once,
        )
        threads = HandlerThreads(1, f"keyturn-lead-{group}")
        self._threads.add(threads)

        async def start() -> LeadershipCore[Term]:
            return self._aio._core.lead(settings, LeaderThreads(career, threads))

        try:
            core = self._thread.call(start)
        except BaseException:
            self._threads.discard(threads)
            raise
        return Leadership(self, self._thread, core, threads, lambda: self._threads.discard(threads))

    def producer(
        self,
        queue: str,
        *,
        count: int = 100,
        interval: float = 0.005,
        max_items: int = 10_000,
        max_bytes: int = 16 * MIB,
        when_full: Literal["wait", "error"] = "wait",
        durability: Durability | None = None,
        timeout: float = 60.0,
        on_error: OnProducerError | None = None,
        spool: Spool | None = None,
    ) -> Producer:
        """A buffer: items are sent when there are `count` (up to 1,000), or after `interval` seconds, in the order of `add`.

        `max_items`, `max_bytes`: what may wait to be accepted; `when_full`: `wait` (`add` waits for room) or `error`.
        `timeout`: after this an item is given up. `on_error` is told of every item that was not handed over; then the futures of
        `add` may be left alone. `spool`: items go to disk while the sidecar cannot be reached; it needs `on_error`.
        """
        settings = producer_settings(
            queue,
            count=count,
            interval=interval,
            max_items=max_items,
            max_bytes=max_bytes,
            when_full=when_full,
            durability=durability,
            timeout=timeout,
            on_error=on_error,
            spool=spool,
        )

        async def start() -> Production:
            return self._aio._core.produce(settings)

        core = self._thread.call(start)
        return Producer(self, self._thread, core, settings)

    # Those of asyncio, waited for.
    submit = waiting(aio.Client.submit)
    submit_many = waiting(aio.Client.submit_many)
    result = waiting(aio.Client.result)
    enqueue = waiting(aio.Client.enqueue)
    dequeue = waiting(aio.Client.dequeue)
    submit_batch = waiting(aio.Client.submit_batch)
    acquire = waiting(aio.Client.acquire)
    ack = waiting(aio.Client.ack)
    nack = waiting(aio.Client.nack)
    renew = waiting(aio.Client.renew)
    await_item = waiting(aio.Client.await_item)
    # Said here too, so that the documentation has them where they are looked for.
    result_future = Calls.result_future
    now = Calls.now
    hold = Calls.hold
    begin = Calls.begin
    aio = Calls.aio
