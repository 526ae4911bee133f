"""Work under turns and consumers, with threads."""

from __future__ import annotations

import asyncio
from typing import Any

import keyturn
from keyturn_player.handles import Handles, not_granted, options_of_consumer, turn_options
from keyturn_player.leading import lead_options
from keyturn_player.threads.client import Client, in_thread
from keyturn_player.threads.leading import Leading
from keyturn_player.threads.work import Handler, Held
from keyturn_player.words import Json, from_error, put
from keyturn_player.work import items_of


class ThreadHandles(Handles):
    def _threads(self, request: Json) -> keyturn.Client:
        client: Any = self._client(request)
        assert isinstance(client, Client)
        return client.threads

    def _in_threads(self, request: Json) -> Handler:
        held: Any = self._held.setdefault(request["handle"], Held())
        return Handler(request["handle"], request["work"], held, self._tell)

    async def _with_turn(self, request: Json) -> Json:
        if "wait_ms" in request:
            # As the documentation says it for waits that may be called off.
            return await self._turn(request)
        handler = self._in_threads(request)
        outcome = await in_thread(
            self._threads(request).with_turn,
            request["queue"],
            request["key"],
            lambda turn: handler.run(turn, [], 0),
            **turn_options(request),
        )
        return self._told_outcome(outcome)

    async def _turn(self, request: Json) -> Json:
        handler = self._in_threads(request)

        scope = self._threads(request).turn(request["queue"], request["key"], **turn_options(request))

        def scoped() -> Json:
            try:
                with scope as turn:
                    value = handler.run(turn, [], 0)
            except keyturn.NotGranted as answer:
                return not_granted(answer)
            return put(status="done", value=value)

        done = asyncio.ensure_future(in_thread(scoped))
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            scope.cancel()
            return await done

    async def _consume(self, request: Json) -> Json:
        handle = request["handle"]
        handler = self._in_threads(request)

        consumer: Any = await in_thread(
            self._threads(request).consume,
            request["queues"],
            lambda work: handler.run(work, items_of(work), work.attempt),
            on_error=self._on_trouble(handle),
            **options_of_consumer(request),
        )
        return self._consuming(handle, consumer)

    async def _watch(self, handle: str, consumer: Any) -> None:
        try:
            await in_thread(consumer.wait)
        except Exception as error:  # Whatever ended it, the driver is told.
            self._tell({"event": "failed", "handle": handle, "error": from_error(error)})

    async def _lead(self, request: Json) -> Json:
        leading = Leading(request, self._tell)
        lead = self._threads(request).lead
        leadership: Any = await in_thread(lead, request["group"], leading, **lead_options(request))
        return self._led(request["handle"], leading, leadership, in_thread(leadership.wait))

    async def _withdraw(self, request: Json) -> Json:
        timeout = request.get("timeout_ms", 20_000) / 1_000
        await in_thread(self._leaderships[request["handle"]].stop, timeout)
        return {}

    async def _stop_consumer(self, consumer: Any, timeout: float) -> bool:
        return bool(await in_thread(consumer.stop, timeout))
