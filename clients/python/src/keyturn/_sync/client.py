"""The client for threads."""

from __future__ import annotations

import atexit
import concurrent.futures
import os
import threading
import warnings
import weakref
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Final, Literal, TypeVar

from keyturn import aio
from keyturn._channel import fork
from keyturn._metrics import Metrics
from keyturn._options import MIB, Options, Tls, address_of, callable_needed, timeout_of
from keyturn._sync.admin import Admin
from keyturn._sync.consumer import Consumer, Threads, Work
from keyturn._sync.handler_threads import HandlerThreads
from keyturn._sync.loop_thread import LoopThread
from keyturn._sync.producer import Producer
from keyturn._sync.scope import ScopedTurn
from keyturn._sync.stopping import Stoppable
from keyturn._work.consume_options import ConsumeSettings, Trouble, consume_settings
from keyturn._work.consumer import Consumption
from keyturn._work.producer import Production
from keyturn._work.producer_options import OnProducerError, Spool, producer_settings
from keyturn._work.turn_options import ResultOf, TurnOutcome, not_granted, turn_options
from keyturn._work.verdict import Handled
from keyturn.errors import NotGranted, TurnLostError
from keyturn.words import (
    AckAnswer,
    AcquireCall,
    AwaitAnswer,
    Delivery,
    DequeueAnswer,
    Durability,
    EnqueueAnswer,
    FollowUp,
    NackAnswer,
    NackKind,
    NewItem,
    Order,
    RenewResult,
    SubmitResult,
    Turn,
    TurnRef,
)

A = TypeVar("A")
V = TypeVar("V")

# A program that ends without closing its client gives handlers this long, seconds.
_AT_EXIT: Final = 1.0
# More handlers than this are tasks, not threads.
_MOST_THREADS: Final = 1_000
_JOINING: Final = 1.0

_open: weakref.WeakSet[Client] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for client in list(_open):
        client.close(_AT_EXIT)


def _forget_all() -> None:
    _open.clear()


# What was open before a fork belongs to the parent.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def connect(
    address: str | None = None,
    *,
    transport: Literal["session", "unary"] = "session",
    consumer_id: str = "",
    session_id: str = "",
    session_ttl: float = 10.0,
    margin: float | None = None,
    open_commands: int = 100_000,
    open_bytes: int = 256 * MIB,
    tls: Tls | None = None,
    metrics: Metrics | None = None,
) -> Client:
    """Make a client for threads. No connection is made before the first call.

    `address`: `host:port` or `unix:/path`; None: the environment's `KEYTURN_ADDRESS`, else `127.0.0.1:7420`.
    `transport`: `session`, every call on one stream, which keeps turns alive and reconnects; or `unary`, each call by itself.
    `consumer_id`: who asks, for people who look. `session_id`: who takes over the turns of a broken stream; of two clients
    with one id the newer wins. `session_ttl`: how long turns outlive a broken stream, seconds. `margin`: how long before a
    turn may have ended its holder is told to stop, seconds (a tenth of its life, at most 2). `open_commands`, `open_bytes`:
    what may wait for answers; one more call is refused (RESOURCE_EXHAUSTED).

    One thread runs in the background until `close`. Connect after a fork, not before. Raises WrongArgumentError.
    """
    options = Options(
        transport=transport,
        consumer_id=consumer_id,
        session_id=session_id,
        session_ttl=session_ttl,
        margin=margin,
        open_commands=open_commands,
        open_bytes=open_bytes,
        tls=tls,
        metrics=metrics,
    )
    return Client(address_of(address), options)


class HeldTurn(Stoppable):
    """A turn of a raw call that is kept alive until `release`."""

    def __init__(self, owner: object, thread: LoopThread, client: aio.Client, turn: Turn, asked_at: float) -> None:
        super().__init__()
        self.turn = turn
        self._thread = thread

        async def hold() -> aio.HeldTurn:
            held = client.hold(turn, asked_at)
            held.on_lost(self._stop)
            return held

        self._held = thread.call(hold)
        # A client ends with the last reference to it: not while this one is used.
        self._owner = owner

    @property
    def loss(self) -> TurnLostError | None:
        """Why it is lost."""
        return self._reason if isinstance(self._reason, TurnLostError) else None

    def release(self) -> None:
        """Do not keep it alive any more: it was settled, or is about to be."""
        if not self._thread.is_stopped:
            self._thread.soon(self._held.release)


class Client:
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
        self.admin = Admin(self._thread, self._aio)
        """The calls for people: they look, and step in."""
        self._is_closed = False
        _open.add(self)

    def close(self, timeout: float | None = None) -> None:
        """Stop consumers (20 s for handlers), close producers (which flush), then refuse what is still open.

        `timeout` sets the time for both, seconds. Nothing is left when it returns: no thread, no socket; but a handler that goes
        on although it was told to stop keeps its thread until it ends. Twice is fine. Not to be called by a handler of this
        client, which would wait for itself.
        """
        timeout_of("timeout", timeout)
        if self._is_closed or self._thread.is_inherited:
            return
        self._thread.may_wait()
        if any(threads.has_current for threads in list(self._threads)):
            raise RuntimeError("a handler must not wait for the end of its own client: let another thread do that")
        with self._closing:
            if self._is_closed:
                return
            try:
                self._thread.call(lambda: self._aio.close(timeout))
            finally:
                self._is_closed = True
                _open.discard(self)
                for threads in list(self._threads):
                    threads.join(_JOINING)
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
        return TurnOutcome("done", value, scope.token)

    def consume(
        self,
        queues: str | Sequence[str],
        handler: Callable[[Work], Handled],
        *,
        concurrency: int = 1,
        max_items_per_turn: int = 1,
        wait: float = 30.0,
        lease: float | None = None,
        max_hold: float | None = None,
        settle_timeout: float = 30.0,
        consumer_id: str = "",
        on_error: Callable[[Trouble[Work]], object] | None = None,
    ) -> Consumer:
        """Hand items to a function, in threads, never more than `concurrency` turns (1 to 1,000) at once.

        What the handler returns is the result of its items; what it raises gives them back: RetryLater, DeadLetter,
        Release, and anything else as a retry with the queue's back-off. It is told to stop (`work.stopping`) when its turn
        is lost, after `max_hold`, and when a stop runs out of time. `wait`: how long one Acquire waits. `settle_timeout`:
        how long Ack and Nack are tried again while the sidecar is away. `on_error` is told of everything that goes wrong and
        does not end the consumer, as the log is, in the thread of the client: be short.
        """
        callable_needed("handler", handler)
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

    def submit(
        self,
        queue: str,
        item: NewItem,
        *,
        wait_for_room: float = 0.0,
        durability: Durability | None = None,
        timeout: float | None = None,
    ) -> SubmitResult:
        """Hand one item over. It gets an id if it has none, the same on every try: a lost answer makes no second item.

        `wait_for_room`: how long to wait for room in a full queue, seconds, up to 300. `durability`: what has happened when it is
        accepted; None: as the queue has it. `timeout`: how long to go on trying (10 s and `wait_for_room`).
        """
        return self._thread.call(
            lambda: self._aio.submit(queue, item, wait_for_room=wait_for_room, durability=durability, timeout=timeout)
        )

    def submit_many(
        self,
        queue: str,
        items: Iterable[NewItem],
        *,
        wait_for_room: float = 0.0,
        durability: Durability | None = None,
        timeout: float | None = None,
    ) -> list[SubmitResult]:
        """Hand items over in order, in as many messages as it takes, each accepted as a whole or not at all.

        Returns one result per item. Raises SubmitManyError when a message fails. `timeout` is for each message.
        """
        return self._thread.call(
            lambda: self._aio.submit_many(queue, items, wait_for_room=wait_for_room, durability=durability, timeout=timeout)
        )

    def result(self, queue: str, item_id: str, *, timeout: float = 300.0) -> bytes | None:
        """The result of an item, whoever submitted it and wherever it is worked on; None: its Ack had none.

        Known for the queue's `result_ttl` after its end. Raises ItemFailedError when no result can come, and KeyturnError with
        DEADLINE_EXCEEDED when `timeout` (seconds, `math.inf` for ever) is over first.
        """
        return self._thread.call(lambda: self._aio.result(queue, item_id, timeout=timeout))

    def result_future(self, queue: str, item_id: str, *, timeout: float = 300.0) -> concurrent.futures.Future[bytes | None]:
        """The same as a future, which may be cancelled."""
        return self.begin(lambda: self._aio.result(queue, item_id, timeout=timeout))

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
        return Producer(self, self._thread, core, settings, self._aio._core.forget_producer)

    def enqueue(
        self,
        queue: str,
        key: str,
        *,
        ticket: str = "",
        wait: float | None = None,
        lease: float | None = None,
        idempotency_key: str = "",
        consumer_id: str = "",
        timeout: float | None = None,
    ) -> EnqueueAnswer:
        """EnQueue: ask for the turn of a key. With a ticket it is safe to be sent again.

        A turn with a `lease` lives by it; without one its session keeps it alive. `timeout` of this and the other calls: seconds
        until it is given up (DEADLINE_EXCEEDED), connected or not; None: its wait and ten seconds.
        """
        return self._thread.call(
            lambda: self._aio.enqueue(
                queue,
                key,
                ticket=ticket,
                wait=wait,
                lease=lease,
                idempotency_key=idempotency_key,
                consumer_id=consumer_id,
                timeout=timeout,
            )
        )

    def dequeue(
        self,
        queue: str,
        key: str,
        *,
        token: int | None = None,
        ticket: str | None = None,
        abandoned: bool = False,
        result: bytes = b"",
        timeout: float | None = None,
    ) -> DequeueAnswer:
        """DeQueue: end a caller's turn by its token, or give up a place or a turn by its ticket.

        `abandoned`: the work was not done. `result` is remembered with the idempotency key.
        """
        return self._thread.call(
            lambda: self._aio.dequeue(
                queue, key, token=token, ticket=ticket, abandoned=abandoned, result=result, timeout=timeout
            )
        )

    def submit_batch(
        self,
        queue: str,
        items: Sequence[NewItem],
        *,
        wait_for_room: float | None = None,
        durability: Durability | None = None,
        timeout: float | None = None,
    ) -> list[SubmitResult]:
        """Submit: hand over 1 to 1,000 items in one message, which an error accepts none of."""
        return self._thread.call(
            lambda: self._aio.submit_batch(queue, items, wait_for_room=wait_for_room, durability=durability, timeout=timeout)
        )

    def acquire(
        self,
        queues: str | Sequence[str],
        *,
        key: str = "",
        ticket: str = "",
        max_turns: int | None = None,
        max_items_per_turn: int | None = None,
        wait: float | None = None,
        lease: float | None = None,
        consumer_id: str = "",
        timeout: float | None = None,
    ) -> list[Delivery]:
        """Acquire: take the next turns of any keys with items; with `key`: wait in the line of this key."""
        return self._thread.call(
            lambda: self._aio.acquire(
                queues,
                key=key,
                ticket=ticket,
                max_turns=max_turns,
                max_items_per_turn=max_items_per_turn,
                wait=wait,
                lease=lease,
                consumer_id=consumer_id,
                timeout=timeout,
            )
        )

    def ack(
        self,
        queue: str,
        key: str,
        token: int,
        *,
        result: bytes = b"",
        follow_ups: Sequence[FollowUp] = (),
        next: AcquireCall | None = None,
        timeout: float | None = None,
    ) -> AckAnswer:
        """Ack: end a turn as done; in the same step submit follow-ups, and take what `next` says."""
        return self._thread.call(
            lambda: self._aio.ack(queue, key, token, result=result, follow_ups=follow_ups, next=next, timeout=timeout)
        )

    def nack(
        self,
        queue: str,
        key: str,
        token: int,
        kind: NackKind,
        *,
        delay: float | None = None,
        error: str = "",
        done: int = 0,
        timeout: float | None = None,
    ) -> NackAnswer:
        """Nack: give a turn back. `done`: how many items from the first are finished nevertheless."""
        return self._thread.call(
            lambda: self._aio.nack(queue, key, token, kind, delay=delay, error=error, done=done, timeout=timeout)
        )

    def renew(
        self, turns: Sequence[TurnRef], *, lease: float | None = None, timeout: float | None = None
    ) -> list[RenewResult]:
        """Renew: let the leases of live turns start again, 1 to 1,000 of them."""
        return self._thread.call(lambda: self._aio.renew(turns, lease=lease, timeout=timeout))

    def await_item(
        self, queue: str, item_id: str, *, wait: float | None = None, timeout: float | None = None
    ) -> AwaitAnswer:
        """Await: ask what became of an item, and wait so long for its end."""
        return self._thread.call(lambda: self._aio.await_item(queue, item_id, wait=wait, timeout=timeout))

    def now(self) -> float:
        """The clock that `hold` counts by."""
        return self._thread.loop.time()

    def hold(self, turn: Turn, asked_at: float) -> HeldTurn:
        """Keep a turn of a raw call alive, and tell in time when it is lost.

        `asked_at`: `now()` before the call that gave it; its life is counted from there, because only durations are trusted.
        """
        return HeldTurn(self, self._thread, self._aio, turn, asked_at)

    def begin(self, make: Callable[[], Awaitable[A]]) -> concurrent.futures.Future[A]:
        """Run a call of `aio`, the asyncio client beneath, without waiting for it; to cancel the future ends the call.

        `client.begin(lambda: client.aio.enqueue("orders", "ada", wait=60))`
        """
        future = self._thread.begin(make)
        # A client ends with the last reference to it: not while this is waited for.
        future.add_done_callback(self._done_with)
        return future

    def _done_with(self, _: concurrent.futures.Future[Any]) -> None:
        return

    @property
    def aio(self) -> aio.Client:
        """The asyncio client beneath, for `begin`: it is used on its own thread alone."""
        return self._aio
