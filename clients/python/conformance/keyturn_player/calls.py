"""Raw calls, and those that are built of one or several."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import keyturn
from keyturn import Delivery
from keyturn.aio import Call, Client
from keyturn_player.words import (
    Json,
    from_bytes,
    from_deliveries,
    from_result,
    from_turn,
    ms,
    put,
    seconds,
    to_acquire,
    to_bytes,
    to_follow_ups,
    to_item,
)

A = TypeVar("A")


class Calls:
    def __init__(self, client: Callable[[Json], Client]) -> None:
        self._client = client
        self.open: dict[int, Call[Any]] = {}
        """By the id of the request that has no answer yet."""
        self.ops: dict[str, Callable[[Json], Awaitable[Json]]] = {
            "enqueue": self._enqueue,
            "dequeue": self._dequeue,
            "submit": self._submit,
            "acquire": self._acquire,
            "ack": self._ack,
            "nack": self._nack,
            "renew": self._renew,
            "await": self._await,
            "submit_many": self._submit_many,
            "result": self._result,
        }

    async def _ask(self, request: Json, call: Call[A]) -> A:
        self.open[request["id"]] = call
        try:
            return await call
        finally:
            del self.open[request["id"]]

    async def _enqueue(self, request: Json) -> Json:
        call = self._client(request).enqueue(
            request["queue"],
            request["key"],
            ticket=request.get("ticket", ""),
            wait=seconds(request.get("wait_ms")),
            lease=seconds(request.get("lease_ms")),
            idempotency_key=request.get("idempotency_key", ""),
            timeout=seconds(request.get("timeout_ms")),
        )
        answer = await self._ask(request, call)
        return put(
            decision=answer.decision,
            turn=None if answer.turn is None else from_turn(answer.turn),
            ticket=answer.ticket,
            ahead=answer.ahead,
            reason=answer.reason,
            retry_after_ms=ms(answer.retry_after),
            result=from_bytes(answer.result),
            survivor_id=answer.survivor_id,
        )

    async def _dequeue(self, request: Json) -> Json:
        call = self._client(request).dequeue(
            request["queue"],
            request["key"],
            token=request.get("token"),
            ticket=request.get("ticket"),
            abandoned=request.get("abandoned", False),
            result=to_bytes(request.get("result", "")),
        )
        answer = await self._ask(request, call)
        return {"promoted": answer.promoted, "waiting": answer.waiting}

    async def _submit(self, request: Json) -> Json:
        call = self._client(request).submit_batch(
            request["queue"],
            [to_item(item) for item in request["items"]],
            wait_for_room=seconds(request.get("wait_for_room_ms")),
            durability=request.get("durability"),
            timeout=seconds(request.get("timeout_ms")),
        )
        return {"results": [from_result(one) for one in await self._ask(request, call)]}

    async def _acquire(self, request: Json) -> Json:
        asked = to_acquire(request)
        call: Call[list[Delivery]] = self._client(request).acquire(
            **asked._asdict(), timeout=seconds(request.get("timeout_ms"))
        )
        deliveries: list[Delivery] = await self._ask(request, call)
        return {"deliveries": from_deliveries(deliveries)}

    async def _ack(self, request: Json) -> Json:
        call = self._client(request).ack(
            request["queue"],
            request["key"],
            request["token"],
            result=to_bytes(request.get("result", "")),
            follow_ups=to_follow_ups(request.get("follow_ups", ())),
            next=to_acquire(request["next"]) if "next" in request else None,
        )
        answer = await self._ask(request, call)
        following = None if answer.next is None else {"deliveries": from_deliveries(answer.next)}
        return put(follow_ups=[from_result(one) for one in answer.follow_ups], next=following)

    async def _nack(self, request: Json) -> Json:
        call = self._client(request).nack(
            request["queue"],
            request["key"],
            request["token"],
            request["kind"],
            delay=seconds(request.get("delay_ms")),
            error=request.get("error", ""),
            done=request.get("done", 0),
        )
        answer = await self._ask(request, call)
        return {"retry": answer.retry_at is not None, "dead_lettered": answer.dead_lettered}

    async def _renew(self, request: Json) -> Json:
        turns = [keyturn.TurnRef(turn["queue"], turn["key"], turn["token"]) for turn in request["turns"]]
        call = self._client(request).renew(turns, lease=seconds(request.get("lease_ms")))
        results = await self._ask(request, call)
        return {"results": [put(alive=one.alive, cause=one.cause) for one in results]}

    async def _await(self, request: Json) -> Json:
        call = self._client(request).await_item(request["queue"], request["item_id"], wait=seconds(request.get("wait_ms")))
        answer = await self._ask(request, call)
        return put(
            state=answer.state,
            result=from_bytes(answer.result),
            error=answer.error,
            attempt=answer.attempt,
        )

    async def _submit_many(self, request: Json) -> Json:
        items = [to_item(item) for item in request["items"]]
        results = await self._client(request).submit_many(request["queue"], items)
        return {"results": [from_result(one) for one in results]}

    async def _result(self, request: Json) -> Json:
        timeout = request.get("timeout_ms", 300_000) / 1_000
        found = await self._client(request).result(request["queue"], request["item_id"], timeout=timeout)
        return put(result=from_bytes(found))
