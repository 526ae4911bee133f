"""Waits in the line of a key, in one place however many calls it takes."""

from __future__ import annotations

import asyncio
from math import ceil, inf
from typing import Any, NamedTuple, TypeVar

from keyturn._connection.backoff import BackOff
from keyturn._connection.call import Call, client_closed
from keyturn._session.base import Base, failure_of, retry_after_of
from keyturn._words import calls
from keyturn._words.limits import GIVING_UP, GRACE, LEAST_BETWEEN, LONGEST_WAIT
from keyturn._words.worker_call import WorkerCall
from keyturn.errors import Blocked, Declined, KeyturnError
from keyturn.words import AcquireCall, EnqueueAnswer, Order, Turn

A = TypeVar("A")


class Plan(NamedTuple):
    """What is claimed, and how."""

    queue: str
    key: str
    order: Order
    wait: float | None
    """None: the queue's."""
    lease: float | None
    idempotency_key: str
    consumer_id: str


class Granted(NamedTuple):
    """A turn, and when the first call was sent that may have got it."""

    turn: Turn
    asked_at: float


class Claim:
    """Whoever does not get the turn leaves no place behind."""

    def __init__(self, base: Base, plan: Plan) -> None:
        self._base = base
        self._plan = plan
        # Without a wait the call does not stay, so it has no place to keep.
        self._ticket = "" if plan.wait == 0 else base.ids.new()
        self._until = None if plan.wait is None else base.now() + plan.wait
        # Without an end of its own a wait ends when the sidecar was away for so long.
        self._patient_until: float | None = None
        self._back_off = BackOff()
        self._asked_at: float | None = None
        self._call: asyncio.Future[Any] | None = None
        """The last one; None: between two."""
        self._is_called_off = False

    async def wait(self) -> Granted:
        """Raises Declined, Blocked, and KeyturnError when the sidecar refuses or is away for too long."""
        if self._base.is_closing:
            raise client_closed()
        try:
            with self._base.waiting(self._call_off):
                return await self._wait()
        except asyncio.CancelledError:
            # A call that is cancelled leaves its line, and one that was answered at this very moment gives back what it got. But
            # between two calls the place is kept, and after such an answer it may be.
            call = self._call
            if call is None or not call.cancelled():
                self._base.in_background(self._give_up())
            raise

    def _call_off(self) -> None:
        self._is_called_off = True
        if self._call is not None:
            self._call.cancel()

    async def _wait(self) -> Granted:
        while True:
            asked = self._base.now()
            if self._asked_at is None:
                self._asked_at = asked
            try:
                answer = await self._once()
            except asyncio.CancelledError:
                call = self._call
                if not self._is_called_off or call is None or not call.cancelled():
                    raise
                answer = None
            if self._is_called_off:
                # The turn may have come as the client began to close: nobody would begin to work any more.
                self._base.in_background(self._give_up(None if answer is None else answer.turn))
                raise client_closed()
            if answer is None:
                continue
            if answer.turn is not None:
                return Granted(answer.turn, self._asked_at)
            self._asked_at = None
            if answer.decision == "decline":
                reason = answer.reason or "waiter_exists"
                raise Declined(reason, answer.survivor_id, answer.retry_after, answer.result)
            if self._until is None or self._base.now() >= self._until:
                await self._give_up()
                raise Blocked(answer.ahead, answer.retry_after)
            self._call = None
            await asyncio.sleep(max(0.0, asked + LEAST_BETWEEN - self._base.now()))

    async def _once(self) -> EnqueueAnswer | None:
        """One call. None: no answer, and another try is worth it."""
        try:
            answer = await self._ask()
        except KeyturnError as error:
            now = self._base.now()
            if self._patient_until is None:
                # A call that ran out of time was patient itself.
                self._patient_until = now + (0.0 if error.code == "DEADLINE_EXCEEDED" else GRACE)
            left = (self._patient_until if self._until is None else self._until) - now
            if not self._ticket or failure_of(error) != "away" or left <= 0:
                # Not in the caller's time: the sidecar may be away or silent.
                self._base.in_background(self._give_up())
                raise
            self._call = None
            await asyncio.sleep(min(self._back_off.next(retry_after_of(error)), left))
            return None
        self._back_off.reset()
        self._patient_until = None
        return answer

    async def _ask(self) -> EnqueueAnswer:
        plan = self._plan
        wait = self._part()
        timeout = None if wait is None else wait + GRACE
        if plan.order == "coalesce":
            asked = calls.Enqueue(
                plan.queue, plan.key, self._ticket, wait, plan.lease, plan.idempotency_key, plan.consumer_id
            )
            return await self._sent(asked, timeout)
        strict = AcquireCall(
            (plan.queue,), plan.key, self._ticket, wait=wait, lease=plan.lease, consumer_id=plan.consumer_id
        )
        deliveries = await self._sent(calls.Acquire(strict), timeout)
        # Nobody counts who stands before.
        return EnqueueAnswer("accept", deliveries[0].turn, self._ticket) if deliveries else EnqueueAnswer("block")

    def _sent(self, asked: WorkerCall[A], timeout: float | None) -> Call[A]:
        call = self._base.transport.ask(asked, timeout)
        call.leaves = True
        self._call = call
        return call

    def _part(self) -> float | None:
        """What this call shall wait, whole milliseconds."""
        if self._until is None:
            return None
        left = max(0.0, min(self._until - self._base.now(), LONGEST_WAIT))
        return ceil(left * 1_000) / 1_000 if left < inf else LONGEST_WAIT

    async def _give_up(self, turn: Turn | None = None) -> None:
        """Leave the line, or end the turn that was given."""
        plan = self._plan
        token, ticket = (None, self._ticket) if turn is None else (turn.token, None)
        if token is None and not ticket:
            return
        try:
            await self._base.transport.ask(calls.Dequeue(plan.queue, plan.key, token, ticket, abandoned=True), GIVING_UP)
        except KeyturnError:
            # The place ends with its `ticket_ttl`; why we leave matters more.
            return
