"""The client for asyncio.

A client belongs to the event loop in which it was made, and is used from there; it is not thread-safe. Everything that
waits can be cancelled as usual.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from inspect import isawaitable
from types import TracebackType
from typing import Any, Literal, TypeVar

from keyturn._admin import Admin
from keyturn._call import Call
from keyturn._core import Core
from keyturn._metrics import Metrics
from keyturn._options import MIB, Options, Tls, address_of, callable_needed, number_within, timeout_of
from keyturn._turns.held import Held
from keyturn._work.consume_options import DEFAULT_STOP, ConsumeSettings, Trouble, consume_settings
from keyturn._work.consumer import Consumption
from keyturn._work.holding import Holding
from keyturn._work.producer import Production
from keyturn._work.producer_options import OnProducerError, ProducerResult, Spool, producer_settings
from keyturn._work.scope import ScopedTurn
from keyturn._work.submit import result, submit, submit_many, submit_options
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
    Item,
    NackAnswer,
    NackKind,
    NewItem,
    Order,
    RenewResult,
    SubmitResult,
    Turn,
    TurnRef,
)

__all__ = ["Call", "Client", "Consumer", "HeldTurn", "Producer", "ScopedTurn", "Work", "connect"]

V = TypeVar("V")

log = logging.getLogger("keyturn")


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
    """Make a client in the running event loop. No connection is made before the first call.

    `address`: `host:port` or `unix:/path`; None: the environment's `KEYTURN_ADDRESS`, else `127.0.0.1:7420`.
    `transport`: `session`, every call on one stream, which keeps turns alive and reconnects; or `unary`, each call by itself.
    `consumer_id`: who asks, for people who look. `session_id`: who takes over the turns of a broken stream; of two clients
    with one id the newer wins. `session_ttl`: how long turns outlive a broken stream, seconds. `margin`: how long before a
    turn may have ended its holder is told to stop, seconds (a tenth of its life, at most 2). `open_commands`, `open_bytes`:
    what may wait for answers; one more call is refused (RESOURCE_EXHAUSTED).

    Raises WrongArgumentError.
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


class Work:
    """A turn with its items, as a handler gets it."""

    def __init__(self, delivery: Delivery, holding: Holding) -> None:
        self._delivery = delivery
        self._holding = holding

    @property
    def queue(self) -> str:
        """Whose turn it is, with `key`."""
        return self._delivery.turn.queue

    @property
    def key(self) -> str:
        """Empty for a keyless item."""
        return self._delivery.turn.key

    @property
    def token(self) -> int:
        """Grows with every turn of the queue: let what you write to refuse a smaller one than it has seen."""
        return self._delivery.turn.token

    @property
    def attempt(self) -> int:
        """Which try of the first item this is, from 1."""
        return self._delivery.turn.attempt

    @property
    def items(self) -> Sequence[Item]:
        """Consecutive items of the key, in order; at least one."""
        return self._delivery.items

    @property
    def item(self) -> Item:
        """The first of them; with `max_items_per_turn=1` the only one."""
        return self._delivery.items[0]

    @property
    def lost(self) -> bool:
        """The turn is, or must be taken for, somebody else's."""
        return self._holding.loss is not None

    @property
    def loss(self) -> TurnLostError | None:
        """Why it is lost."""
        return self._holding.loss

    def check(self) -> None:
        """Raise TurnLostError, HoldTimeoutError or ConsumerStoppedError if the work must stop."""
        if self._holding.reason is not None:
            raise self._holding.reason


class _Tasks:
    """Runs each handler as a task; to stop it is to cancel the task."""

    def __init__(self, handler: Callable[[Work], Awaitable[Handled]]) -> None:
        self._handler = handler

    def work(self, delivery: Delivery, holding: Holding) -> Work:
        return Work(delivery, holding)

    async def run(self, work: Work, holding: Holding) -> Handled:
        running = self._handler(work)
        if not isawaitable(running):
            raise TypeError(f"the handler returned {type(running).__name__}; needed is a coroutine: async def")
        task = asyncio.ensure_future(running)
        holding.listen(lambda _: _cancel(task))
        await asyncio.wait((task,))
        if task.cancelled() and holding.reason is not None:
            raise holding.reason
        return task.result()


def _cancel(task: asyncio.Future[Handled]) -> None:
    task.cancel()


class Consumer:
    """Workers of a queue's items, made by `Client.consume`.

    Await it, or `wait()`, to wait for its end. It ends by `stop`, or with an error when it cannot go on: the sidecar refuses
    its Acquire (a bad name, no permission), or `on_error` raises.
    """

    def __init__(self, core: Consumption[Work]) -> None:
        self._core = core

    @property
    def held(self) -> int:
        """How many turns are held now."""
        return self._core.held

    async def wait(self) -> None:
        """Wait until it has ended; raise why it could not go on."""
        await self._core.finish()
        if self._core.failure is not None:
            raise self._core.failure

    def __await__(self) -> Generator[Any, None, None]:
        return self.wait().__await__()

    async def stop(self, timeout: float = DEFAULT_STOP) -> None:
        """Take no more turns, let handlers finish, release what was delivered and not started.

        After `timeout` seconds handlers are cancelled; it returns at the latest three seconds after that. Why the consumer
        could not go on is told by `wait` alone.
        """
        number_within("timeout", timeout, 0, 86_400)
        self._core.stop(timeout)
        await self._core.finish()

    async def __aenter__(self) -> Consumer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


class Producer:
    """A buffer in front of a queue, made by `Client.producer`."""

    def __init__(self, core: Production, forget: Callable[[Production], None]) -> None:
        self._core = core
        self._forget = forget

    @property
    def pending(self) -> int:
        """Items that are neither accepted, nor refused, nor on disk."""
        return self._core.pending

    def add(self, item: NewItem) -> asyncio.Future[ProducerResult]:
        """Take an item; the future tells what became of it.

        Raises ProducerFullError, ProducerClosedError, and KeyturnError for an item that cannot be sent. The future may have a
        KeyturnError (refused), ProducerTimeoutError, ProducerClosedError, or SpoolError.
        """
        return self._core.add(item)

    async def ready(self) -> None:
        """Wait until an item that is added now need not wait for room: back-pressure."""
        await self._core.ready()

    async def flush(self) -> None:
        """Wait until everything that was added before is accepted, refused, or on disk."""
        await self._core.flush()

    async def close(self, timeout: float | None = None) -> None:
        """Take nothing more, and flush. What is not handed over after `timeout` is refused with ProducerClosedError."""
        await self._core.close(timeout)
        self._forget(self._core)

    async def __aenter__(self) -> Producer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class HeldTurn:
    """A turn of a raw call that is kept alive until `release`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    @property
    def turn(self) -> Turn:
        """The turn."""
        return self._held.turn

    @property
    def lost(self) -> bool:
        """The turn is, or must be taken for, somebody else's."""
        return self._held.lost

    def check(self) -> None:
        """Raise TurnLostError if it is lost."""
        if self._held.loss is not None:
            raise self._held.loss

    def on_lost(self, callback: Callable[[TurnLostError], object]) -> None:
        """Call back once when it is lost, in time; at once if it is. Of several the last one counts."""

        def told(error: TurnLostError) -> None:
            try:
                callback(error)
            except BaseException:  # Those who hold other turns must be told too.
                log.exception("a callback of on_lost raised")

        self._held.watch(told)

    def release(self) -> None:
        """Do not keep it alive any more: it was settled, or is about to be."""
        self._held.release()


class Client:
    """A client of one sidecar. Use it with `async with`, or call `close`."""

    def __init__(self, address: str, options: Options) -> None:
        self.address = address
        self._core = Core(address, options)
        self._base = self._core.base
        self._transport = self._core.transport

    @property
    def admin(self) -> Admin:
        """The calls for people: they look, and step in."""
        return self._core.admin

    async def close(self, timeout: float | None = None) -> None:
        """Stop consumers (20 s for handlers), close producers (which flush), then refuse what is still open.

        `timeout` sets the time for both, seconds. Nothing is left when it returns: no task, no socket.
        """
        await self._core.close(timeout_of("timeout", timeout))

    def __del__(self) -> None:
        # It cannot be closed here: that takes awaiting, and the loop may be gone.
        core = getattr(self, "_core", None)
        if core is not None and not core.is_closing:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

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
        """The turn of a key as a scope: `async with client.turn("orders", "ada") as turn`.

        `wait`: how long to wait, seconds, `math.inf` for ever; None: the queue's, with `order="strict"` 3. `order`: `coalesce`,
        or `strict`, where every call gets its turn in the order of arrival and none is declined. `lease`: life of the turn without
        renewal; None: kept by the session. `max_hold`: after this the block is cancelled with HoldTimeoutError.
        `idempotency_key`: your business id, once done it is declined while the queue remembers it.

        Entering raises Declined, Blocked, or KeyturnError; the block may end with TurnLostError or HoldTimeoutError.
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
        return ScopedTurn(self._base, options)

    async def with_turn(
        self,
        queue: str,
        key: str,
        handler: Callable[[ScopedTurn], Awaitable[V]],
        *,
        wait: float | None = None,
        order: Order = "coalesce",
        lease: float | None = None,
        max_hold: float | None = None,
        idempotency_key: str = "",
        consumer_id: str = "",
        result: ResultOf[V] | None = None,
    ) -> TurnOutcome[V]:
        """As `turn`, for a coroutine function; declined and blocked are told by `status`, not raised.

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
            await scope.__aenter__()
        except NotGranted as answer:
            return not_granted(answer)
        try:
            value = await handler(scope)
            if result is not None:
                scope.result = result(value) or b""
        except BaseException as error:
            await scope.__aexit__(type(error), error, error.__traceback__)
            raise
        await scope.__aexit__(None, None, None)
        return TurnOutcome("done", value, scope.token)

    def consume(
        self,
        queues: str | Sequence[str],
        handler: Callable[[Work], Awaitable[Handled]],
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
        """Hand items to a coroutine function, never more than `concurrency` turns (1 to 10,000) at once.

        What the handler returns is the result of its items; what it raises gives them back: RetryLater, DeadLetter, Release, and
        anything else as a retry with the queue's back-off. It is cancelled when its turn is lost, after `max_hold`, and when a stop
        runs out of time. `wait`: how long one Acquire waits. `settle_timeout`: how long Ack and Nack are tried again while the
        sidecar is away. `on_error` is told of everything that goes wrong and does not end the consumer, as the log is.
        """
        callable_needed("handler", handler)
        settings: ConsumeSettings[Work] = consume_settings(
            queues,
            concurrency=concurrency,
            most=10_000,
            max_items_per_turn=max_items_per_turn,
            wait=wait,
            lease=lease,
            max_hold=max_hold,
            settle_timeout=settle_timeout,
            consumer_id=consumer_id,
            on_error=on_error,
        )
        return Consumer(self._core.consume(settings, _Tasks(handler)))

    async def submit(
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
        options = submit_options(wait_for_room, durability, timeout)
        return await submit(self._base, queue, item, options)

    async def submit_many(
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
        options = submit_options(wait_for_room, durability, timeout)
        return await submit_many(self._base, queue, items, options)

    async def result(self, queue: str, item_id: str, *, timeout: float = 300.0) -> bytes | None:
        """The result of an item, whoever submitted it and wherever it is worked on; None: its Ack had none.

        Known for the queue's `result_ttl` after its end. Raises ItemFailedError when no result can come, and KeyturnError with
        DEADLINE_EXCEEDED when `timeout` (seconds, `math.inf` for ever) is over first.
        """
        return await result(self._base, queue, item_id, timeout)

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

        `max_items`, `max_bytes`: what may wait to be accepted; `when_full`: `wait` (as much again may wait for room) or `error`.
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
        return Producer(self._core.produce(settings), self._core.forget_producer)

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
    ) -> Call[EnqueueAnswer]:
        """EnQueue: ask for the turn of a key. With a ticket it is safe to be sent again.

        A turn with a `lease` lives by it; without one its session keeps it alive. `timeout` of this and the other calls: seconds
        until it is given up (DEADLINE_EXCEEDED), connected or not; None: its wait and ten seconds.
        """
        return self._transport.enqueue(queue, key, ticket, wait, lease, idempotency_key, consumer_id, timeout)

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
    ) -> Call[DequeueAnswer]:
        """DeQueue: end a caller's turn by its token, or give up a place or a turn by its ticket.

        `abandoned`: the work was not done. `result` is remembered with the idempotency key.
        """
        return self._transport.dequeue(queue, key, token, ticket, abandoned, result, timeout)

    def submit_batch(
        self,
        queue: str,
        items: Sequence[NewItem],
        *,
        wait_for_room: float | None = None,
        durability: Durability | None = None,
        timeout: float | None = None,
    ) -> Call[list[SubmitResult]]:
        """Submit: hand over 1 to 1,000 items in one message, which an error accepts none of."""
        return self._transport.submit(queue, items, wait_for_room, durability, timeout)

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
    ) -> Call[list[Delivery]]:
        """Acquire: take the next turns of any keys with items; with `key`: wait in the line of this key."""
        names = (queues,) if isinstance(queues, str) else queues
        asked = AcquireCall(names, key, ticket, max_turns, max_items_per_turn, wait, lease, consumer_id)
        return self._transport.acquire(asked, timeout)

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
    ) -> Call[AckAnswer]:
        """Ack: end a turn as done; in the same step submit follow-ups, and take what `next` says."""
        turn = TurnRef(queue, key, token)
        return self._transport.ack(turn, result, follow_ups, next, timeout)

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
    ) -> Call[NackAnswer]:
        """Nack: give a turn back. `done`: how many items from the first are finished nevertheless."""
        return self._transport.nack(TurnRef(queue, key, token), kind, delay, error, done, timeout)

    def renew(
        self, turns: Sequence[TurnRef], *, lease: float | None = None, timeout: float | None = None
    ) -> Call[list[RenewResult]]:
        """Renew: let the leases of live turns start again, 1 to 1,000 of them."""
        return self._transport.renew(turns, lease, timeout=timeout)

    def await_item(
        self, queue: str, item_id: str, *, wait: float | None = None, timeout: float | None = None
    ) -> Call[AwaitAnswer]:
        """Await: ask what became of an item, and wait so long for its end."""
        return self._transport.await_item(queue, item_id, wait, timeout)

    def now(self) -> float:
        """The clock that `hold` counts by."""
        return self._base.now()

    def hold(self, turn: Turn, asked_at: float) -> HeldTurn:
        """Keep a turn of a raw call alive, and tell in time when it is lost.

        `asked_at`: `now()` before the call that gave it; its life is counted from there, because only durations are trusted.
        """
        return HeldTurn(self._transport.hold(turn, asked_at))
