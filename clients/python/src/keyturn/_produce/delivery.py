"""Brings batches to the sidecar, or to the disk; tries until every item of a batch is settled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from keyturn._connection.backoff import BackOff
from keyturn._connection.failure import TlsError
from keyturn._connection.waits import comes
from keyturn._produce.backlog import Entry, Settling
from keyturn._produce.hand_over import CALL, WAIT_FOR_ROOM, HandedOver, hand_over, until
from keyturn._produce.options import ProducerResult, ProducerSettings
from keyturn._produce.spool_route import SpoolRoute
from keyturn._session.base import Base, retry_after_of
from keyturn._words.log import log
from keyturn.errors import KeyturnError, ProducerTimeoutError, SpoolError


class Delivery:
    """One batch at a time."""

    def __init__(self, base: Base, settings: ProducerSettings, spool: SpoolRoute | None, settling: Settling) -> None:
        self._base = base
        self._settings = settings
        self._spool = spool
        self._settling = settling
        self._given_up: Exception | None = None
        self._hurry = asyncio.Event()

    def give_up(self, error: Exception) -> None:
        """The producer's time to close is over: what is left is rejected with this."""
        self._given_up = error
        self._hurry.set()
        if self._spool is not None:
            self._spool.wake()

    async def deliver(self, batch: Sequence[Entry]) -> None:
        """Settle all of them. Never raises: that would end the sending."""
        back_off = BackOff()
        most = len(batch)
        left: Sequence[Entry] = batch
        try:
            if self._spool is not None:
                await self._spool.opened()
            while left := self._alive(left):
                if self._spool is not None and self._spool.is_in_use:
                    left = await self._spool.take(left)
                    continue
                part = left[:most]
                handed = await self._hand_over(part)
                if self._spool is not None and isinstance(handed.error, TlsError):
                    # Nothing about the items: they are safe on disk until somebody has put it right.
                    handed = handed._replace(kind="again")
                if handed.kind == "too_many":
                    most = (len(part) + 1) // 2
                elif handed.kind == "again":
                    await self._try_again(handed, back_off, left)
                else:
                    left = [*self._settle(part, handed), *left[len(part) :]]
        except Exception as error:  # Whatever it is: whoever added them waits for an answer.
            if not isinstance(error, SpoolError):
                log.exception("the producer of %s cannot go on with %d items", self._settings.queue, len(left))
            for entry in left:
                self._settling.reject(entry, error)

    async def _try_again(self, handed: HandedOver, back_off: BackOff, left: Sequence[Entry]) -> None:
        if self._spool is not None and handed.error is not None and handed.error.code != "CANCELLED":
            self._spool.begin()
        if handed.error is None or (self._spool is not None and self._spool.is_in_use):
            return
        until = left[0].deadline - self._base.now()
        pause = max(0.0, min(back_off.next(retry_after_of(handed.error)), until))
        await comes(self._hurry, pause)

    async def _hand_over(self, part: Sequence[Entry]) -> HandedOver:
        """No longer than until the first deadline."""
        spool = self._settings.spool
        left = max(0.001, part[0].deadline - self._base.now())
        timeout = min(CALL, CALL if spool is None else spool.patience, left)
        room = min(WAIT_FOR_ROOM, left - timeout)
        items = [entry.item for entry in part]
        asked = hand_over(self._base, self._settings.queue, items, timeout, room, self._settings.durability)
        handed = await until(self._hurry, asked)
        return handed or HandedOver("again", error=KeyturnError("the producer was closed", "CANCELLED"))

    def _settle(self, part: Sequence[Entry], handed: HandedOver) -> list[Entry]:
        """What of the part is left to be sent."""
        if handed.kind == "answered":
            for entry, result in zip(part, handed.results, strict=True):
                self._settling.resolve(entry, ProducerResult(*result))
            return []
        left: list[Entry] = []
        for at, entry in enumerate(part):
            error = handed.error if handed.kind == "refused" else handed.errors.get(at)
            if error is None:
                left.append(entry)
            else:
                self._settling.reject(entry, error)
        return left

    def _alive(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Rejects those whose time is over."""
        now = self._base.now()
        alive: list[Entry] = []
        for entry in entries:
            if self._given_up is not None:
                self._settling.reject(entry, self._given_up)
            elif entry.deadline <= now:
                late = ProducerTimeoutError(entry.item.item_id, self._settings.timeout)
                self._settling.reject(entry, late)
            else:
                alive.append(entry)
        return alive
