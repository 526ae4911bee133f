"""What a handler does: as the request says."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import keyturn
from keyturn_player.words import Json, from_bytes, seconds, to_bytes, to_follow_ups

Tell = Callable[[Json], None]


class UnderTurn(Protocol):
    @property
    def queue(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def token(self) -> int: ...
    @property
    def lost(self) -> bool: ...
    def check(self) -> None: ...


class Held:
    """Work that waits until `finish` says how it ends."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self.outlives_stop = False
        """A consumer was stopped, and not its client closed: what is held goes on until `finish`."""

    def add(self, token: int) -> asyncio.Future[Json]:
        self._waiting[token] = asyncio.get_running_loop().create_future()
        return self._waiting[token]

    def remove(self, token: int) -> None:
        self._waiting.pop(token, None)

    def finish(self, token: int | None, outcome: Json) -> bool:
        """False: nothing is held."""
        chosen = [one for at, one in self._waiting.items() if token in (None, at) and not one.done()]
        for one in chosen:
            one.set_result(outcome)
        return bool(chosen)


class Handler:
    """One handler of a handle, for every turn that it gets."""

    def __init__(self, handle: str, work: Json, held: Held, tell: Tell) -> None:
        self._handle = handle
        self._work = work
        self._held = held
        self._tell = tell

    async def run(self, turn: UnderTurn, items: list[Json], attempt: int) -> Any:
        about = {"handle": self._handle, "key": turn.key, "token": turn.token}
        ids = ",".join(item["item_id"] for item in items)
        outcome = outcome_for(self._work, items)
        ledger(self._work, "start", turn, ids)
        self._tell({"event": "started", "queue": turn.queue, "attempt": attempt, "items": items} | about)
        try:
            return self._end(await self._do(turn, outcome, about, ids), turn, ids)
        finally:
            self._held.remove(turn.token)
            self._tell({"event": "ended"} | about)

    async def _do(self, turn: UnderTurn, outcome: Json, about: Json, ids: str) -> Json:
        """The outcome, once the work is done; what it is told meanwhile is told on."""
        told_lost = False
        takes = time.monotonic() + self._work.get("takes_ms", 0) / 1_000
        finish = self._held.add(turn.token) if self._work.get("held") else None
        while True:
            try:
                if finish is not None:
                    return await asyncio.shield(finish)
                await asyncio.sleep(max(0.0, takes - time.monotonic()))
                return outcome
            except asyncio.CancelledError:
                if turn.lost and not told_lost:
                    told_lost = True
                    ledger(self._work, "lost", turn, ids)
                    self._tell({"event": "lost", "cause": cause_of(turn)} | about)
                elif not turn.lost:
                    self._tell({"event": "told_to_stop"} | about)
                stays = finish is not None and not turn.lost and self._held.outlives_stop
                if not stays and not self._work.get("ignores_loss"):
                    raise

    def _end(self, outcome: Json, turn: UnderTurn, ids: str) -> Any:
        if not turn.lost:
            ledger(self._work, "end", turn, ids)
        return end_of(outcome)


def outcome_for(work: Json, items: list[Json]) -> Json:
    by_payload = work.get("by_payload", {})
    payload = items[0]["payload"] if items else None
    if isinstance(payload, str) and payload in by_payload:
        return dict(by_payload[payload])
    return dict(work.get("does", {}))


def end_of(outcome: Json) -> Any:
    """What a handler returns, or raises, for this outcome."""
    if "throw" in outcome:
        raise RuntimeError(outcome["throw"])
    done = outcome.get("done", 0)
    if outcome.get("retry"):
        raise keyturn.RetryLater(seconds(outcome.get("delay_ms")), done=done)
    if "dead_letter" in outcome:
        raise keyturn.DeadLetter(outcome["dead_letter"], done=done)
    if outcome.get("release"):
        raise keyturn.Release(done=done)
    if outcome.get("ack"):
        result = to_bytes(outcome.get("result", ""))
        return keyturn.done(result, follow_ups=to_follow_ups(outcome.get("follow_ups", ())))
    return outcome.get("value")


def ledger(work: Json, what: str, turn: UnderTurn, ids: str) -> None:
    path = work.get("ledger")
    if path is None:
        return
    player = f"python-{os.getpid()}"
    line = "\t".join((what, turn.queue, turn.key, str(turn.token), player, ids)) + "\n"
    # One write to a file opened for appending: lines of all players have one order.
    descriptor = os.open(Path(path), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def cause_of(turn: UnderTurn) -> str:
    try:
        turn.check()
    except keyturn.TurnLostError as loss:
        return loss.cause
    except (keyturn.HoldTimeoutError, keyturn.ConsumerStoppedError):
        return "unknown"
    return "unknown"


def items_of(work: keyturn.aio.Work | keyturn.Work) -> list[Json]:
    return [{"item_id": item.item_id, "payload": from_bytes(item.payload), "attempt": item.attempt} for item in work.items]
