"""The client for asyncio."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Literal, TypeVar

from keyturn._aio.admin import Admin
from keyturn._aio.calls import Calls
from keyturn._aio.consumer import Consumer, Tasks, Work
from keyturn._aio.core import Core
from keyturn._aio.leadership import LeaderCareer, Leadership
from keyturn._aio.leadership import Tasks as LeaderTasks
from keyturn._aio.producer import Producer
from keyturn._aio.running_tasks import RunningTasks
from keyturn._aio.scoped_turn import ScopedTurn
from keyturn._consume.options import ConsumeSettings, Trouble, consume_settings
from keyturn._consume.turn_options import ResultOf, TurnDone, TurnOutcome, not_granted, turn_options
from keyturn._lead.options import LeadSettings, Progress, metadata_of
from keyturn._produce.options import OnProducerError, producer_settings
from keyturn._produce.spool.options import Spool
from keyturn._produce.submit import result, submit, submit_many, submit_options
from keyturn._words.checks import callable_needed, timeout_of
from keyturn._words.limits import MIB
from keyturn._words.options import Options, default_consumer_id
from keyturn.errors import NotGranted
from keyturn.words import (
    Durability,
    NewItem,
    Order,
    SubmitResult,
)

V = TypeVar("V")


class Client(Calls):
    """A client of one sidecar. Use it with `async with`, or call `close`."""

    def __init__(self, address: str, options: Options) -> None:
        self.address = address
        self._core = Core(address, options)
        self._running = RunningTasks()
        super().__init__(self._core.base)

    @property
    def admin(self) -> Admin:
        """The calls for people: they look, and step in."""
        return self._core.admin

    async def close(self, timeout: float | None = None) -> None:
        """Stop consumers and leaders (20 s for each), close producers (which flush), then refuse what is still open.

        `timeout` sets the time for all of them, seconds. Nothing is left when it returns: no task, no socket. In a handler or a
        phase of a leader of this client, which it would wait for, it raises RuntimeError, and nothing is closed.
        """
        self._running.refuse("a handler or a leader must not wait for the end of its own client")
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
        return TurnDone(value, scope.token)

    def consume(
        self,
        queues: str | Sequence[str],
        handler: Callable[[Work], Awaitable[object]],
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
        tasks = Tasks(handler, self._running)
        return Consumer(self._core.consume(settings, tasks), tasks)

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
        that returns, up to 64 KiB, is `term.predecessor.state` of the next leader. When the term is lost the phase is cancelled.
        `candidate_id`: one for one life of one worker; unset: host, process and something random. `ttl`: how long a term lives
        without a sign of life, seconds; `margin`: how long before that the worker is told that it is lost (a tenth, at most 2).
        `inaugurate_timeout`, `hand_over_timeout`: after these the term is lost. `metadata`: for people who ask who leads.
        `progress`: `timer`, that the event loop turns is the sign of life, or `manual`: `execute` gives it by `term.progress()`.
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
        phases = LeaderTasks(career, self._running)
        return Leadership(self._core.lead(settings, phases), phases)

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
        return Producer(self._core.produce(settings))

    # Said here too, so that the documentation has them where they are looked for.
    enqueue = Calls.enqueue
    dequeue = Calls.dequeue
    submit_batch = Calls.submit_batch
    acquire = Calls.acquire
    ack = Calls.ack
    nack = Calls.nack
    renew = Calls.renew
    await_item = Calls.await_item
    now = Calls.now
    hold = Calls.hold
