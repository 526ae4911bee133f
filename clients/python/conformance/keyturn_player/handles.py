"""What runs on and is known by a handle: work under turns, consumers, producers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

import keyturn
from keyturn.aio import Client, Consumer, Producer, ScopedTurn, Work
from keyturn_player.leading import Leading, lead_options
from keyturn_player.words import (
    Json,
    from_bytes,
    from_error,
    ms,
    put,
    seconds,
    to_item,
)
from keyturn_player.work import Handler, Held, Tell, items_of


class Handles:
    def __init__(self, client: Callable[[Json], Client], tell: Tell) -> None:
        self._client = client
        self._tell = tell
        self._held: dict[str, Any] = {}
        self._consumers: dict[str, Consumer] = {}
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self._producers: dict[str, Producer] = {}
        self._leading: dict[str, Any] = {}
        self._leaderships: dict[str, Any] = {}
        self.ops: dict[str, Callable[[Json], Awaitable[Json]]] = {
            "with_turn": self._with_turn,
            "turn": self._turn,
            "consume": self._consume,
            "lead": self._lead,
            "yield": self._yield,
            "withdraw": self._withdraw,
            "stop": self._stop,
            "finish": self._finish,
            "producer": self._producer,
            "add": self._add,
            "flush": self._flush,
            "close_producer": self._close_producer,
        }

    def _handler(self, request: Json) -> Handler:
        held = self._held.setdefault(request["handle"], Held())
        return Handler(request["handle"], request["work"], held, self._tell)

    async def _with_turn(self, request: Json) -> Json:
        handler = self._handler(request)
        outcome = await self._client(request).with_turn(
            request["queue"],
            request["key"],
            lambda turn: handler.run(turn, [], 0),
            **turn_options(request),
        )
        return self._told_outcome(outcome)

    @staticmethod
    def _told_outcome(outcome: keyturn.TurnOutcome[Any]) -> Json:
        if outcome.status == "done":
            return put(status="done", value=outcome.value)
        return not_granted(outcome)

    async def _turn(self, request: Json) -> Json:
        handler = self._handler(request)
        try:
            scope: ScopedTurn = self._client(request).turn(request["queue"], request["key"], **turn_options(request))
            async with scope as turn:
                value = await handler.run(turn, [], 0)
        except keyturn.NotGranted as answer:
            return not_granted(answer)
        return put(status="done", value=value)

    async def _consume(self, request: Json) -> Json:
        handle = request["handle"]
        handler = self._handler(request)

        async def handle_work(work: Work) -> Any:
            return await handler.run(work, items_of(work), work.attempt)

        consumer = self._client(request).consume(
            request["queues"],
            handle_work,
            on_error=self._on_trouble(handle),
            **options_of_consumer(request),
        )
        return self._consuming(handle, consumer)

    def _on_trouble(self, handle: str) -> Callable[[keyturn.Trouble[Any]], None]:
        def trouble(trouble: keyturn.Trouble[Any]) -> None:
            told = from_error(trouble.error)
            self._tell({"event": "trouble", "handle": handle, "stage": trouble.stage, "error": told})

        return trouble

    def _consuming(self, handle: str, consumer: Consumer) -> Json:
        self._consumers[handle] = consumer
        self._watchers[handle] = asyncio.ensure_future(self._watch(handle, consumer))
        return {}

    async def _watch(self, handle: str, consumer: Consumer) -> None:
        try:
            await consumer.wait()
        except Exception as error:  # Whatever ended it, the driver is told.
            self._tell({"event": "failed", "handle": handle, "error": from_error(error)})

    async def _stop(self, request: Json) -> Json:
        timeout = request.get("timeout_ms", 20_000) / 1_000
        if request["handle"] in self._held:
            self._held[request["handle"]].outlives_stop = True
        let_finish = await self._stop_consumer(self._consumers[request["handle"]], timeout)
        return {"cut_off": not let_finish}

    async def _stop_consumer(self, consumer: Consumer, timeout: float) -> bool:
        return await consumer.stop(timeout)

    async def _lead(self, request: Json) -> Json:
        leading = Leading(request, self._tell)
        leadership = self._client(request).lead(request["group"], leading, **lead_options(request))
        return self._led(request["handle"], leading, leadership, leadership.wait())

    def _led(self, handle: str, leading: Any, leadership: Any, ended: Awaitable[object]) -> Json:
        self._leading[handle] = leading
        self._leaderships[handle] = leadership
        self._watchers[handle] = asyncio.ensure_future(self._watch_leader(handle, ended))
        return {}

    async def _watch_leader(self, handle: str, ended: Awaitable[object]) -> None:
        try:
            await ended
        except Exception as error:  # Whatever ended it, the driver is told.
            self._tell({"event": "failed", "handle": handle, "error": from_error(error)})
        else:
            self._tell({"event": "withdrawn", "handle": handle})

    async def _yield(self, request: Json) -> Json:
        self._leaderships[request["handle"]].yield_()
        return {}

    async def _withdraw(self, request: Json) -> Json:
        await self._leaderships[request["handle"]].stop(request.get("timeout_ms", 20_000) / 1_000)
        return {}

    async def _finish(self, request: Json) -> Json:
        if request["handle"] in self._leading:
            if not self._leading[request["handle"]].finish(request["with"]):
                raise ValueError(f"no phase of {request['handle']} is held")
            return {}
        if not self._held[request["handle"]].finish(request.get("token"), request["with"]):
            raise ValueError(f"nothing of {request['handle']} is held")
        return {}

    async def _producer(self, request: Json) -> Json:
        handle = request["handle"]
        spool = request.get("spool")

        def trouble(error: Exception, item: keyturn.NewItem | None) -> None:
            told = from_error(error)
            item_id = None if item is None else item.item_id
            self._tell(put(event="trouble", handle=handle, stage="producer", error=told, item_id=item_id))

        options = put(
            count=request.get("count"),
            interval=seconds(request.get("interval_ms")),
            max_items=request.get("max_items"),
            max_bytes=request.get("max_bytes"),
            when_full=request.get("when_full"),
            timeout=seconds(request.get("timeout_ms")),
            durability=request.get("durability"),
            spool=None if spool is None else _spool(spool),
            on_error=None if spool is None else trouble,
        )
        made: Any = self._client(request).producer(request["queue"], **options)
        # With threads it is made by one of them.
        self._producers[handle] = await made if isawaitable(made) else made
        return {}

    async def _add(self, request: Json) -> Json:
        result = await self._producers[request["handle"]].add(to_item(request["item"]))
        return put(decision=result.decision, item_id=result.item_id, reason=result.reason)

    async def _flush(self, request: Json) -> Json:
        await self._producers[request["handle"]].flush()
        return {}

    async def _close_producer(self, request: Json) -> Json:
        await self._producers[request["handle"]].close()
        return {}


def options_of_consumer(request: Json) -> Json:
    return put(
        concurrency=request.get("concurrency"),
        max_items_per_turn=request.get("max_items_per_turn"),
        lease=seconds(request.get("lease_ms")),
    )


def not_granted(answer: keyturn.NotGranted | keyturn.TurnDeclined | keyturn.TurnBlocked) -> Json:
    if isinstance(answer, (keyturn.Blocked, keyturn.TurnBlocked)):
        return put(status="blocked", ahead=answer.ahead, retry_after_ms=ms(answer.retry_after))
    assert isinstance(answer, (keyturn.Declined, keyturn.TurnDeclined))
    return put(
        status="declined",
        reason=answer.reason,
        survivor_id=answer.survivor_id,
        retry_after_ms=ms(answer.retry_after),
        result=from_bytes(answer.result),
    )


def turn_options(request: Json) -> Json:
    return put(
        wait=seconds(request.get("wait_ms")),
        order=request.get("order"),
        lease=seconds(request.get("lease_ms")),
        max_hold=seconds(request.get("max_hold_ms")),
        idempotency_key=request.get("idempotency_key"),
    )


def _spool(spool: Json) -> keyturn.Spool:
    options = put(
        interval=seconds(spool.get("interval_ms")),
        count=spool.get("count"),
        max_bytes=spool.get("max_bytes"),
    )
    return keyturn.Spool(spool["directory"], **options)
