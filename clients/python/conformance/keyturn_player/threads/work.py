"""What a handler does in a thread: as the request says."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import Any, Protocol

from keyturn_player.words import Json
from keyturn_player.work import Tell, UnderTurn, cause_of, end_of, ledger, outcome_for

# What has to be waited for: how it ends (`finish`), or None: it is told to stop.
_Box = queue.SimpleQueue[Json | None]


class StoppableTurn(UnderTurn, Protocol):
    def on_stop(self, callback: Callable[[BaseException], object]) -> None: ...


class Held:
    """Work that waits until `finish` says how it ends."""

    def __init__(self) -> None:
        self._waiting: dict[int, _Box] = {}
        self.outlives_stop = False
        """A consumer was stopped, and not its client closed: what is held goes on until `finish`."""

    def add(self, token: int) -> _Box:
        return self._waiting.setdefault(token, queue.SimpleQueue())

    def remove(self, token: int) -> None:
        self._waiting.pop(token, None)

    def finish(self, token: int | None, outcome: Json) -> bool:
        """False: nothing is held."""
        chosen = [box for at, box in list(self._waiting.items()) if token in (None, at)]
        for box in chosen:
            box.put(outcome)
        return bool(chosen)


class Handler:
    """One handler of a handle, for every turn that it gets."""

    def __init__(self, handle: str, work: Json, held: Held, tell: Tell) -> None:
        self._handle = handle
        self._work = work
        self._held = held
        self._tell = tell

    def run(self, turn: StoppableTurn, items: list[Json], attempt: int) -> Any:
        about = {"handle": self._handle, "key": turn.key, "token": turn.token}
        ids = ",".join(item["item_id"] for item in items)
        ledger(self._work, "start", turn, ids)
        box: _Box = self._held.add(turn.token) if self._work.get("held") else queue.SimpleQueue()
        turn.on_stop(lambda _: box.put(None))
        self._tell({"event": "started", "queue": turn.queue, "attempt": attempt, "items": items} | about)
        try:
            outcome = self._do(turn, box, about, ids)
            if not turn.lost:
                ledger(self._work, "end", turn, ids)
            return end_of(outcome_for(self._work, items) if outcome is None else outcome)
        finally:
            self._held.remove(turn.token)
            self._tell({"event": "ended"} | about)

    def _do(self, turn: StoppableTurn, box: _Box, about: Json, ids: str) -> Json | None:
        """The outcome of `finish`; None: the time that the work takes is over."""
        takes = time.monotonic() + self._work.get("takes_ms", 0) / 1_000
        while True:
            try:
                left = None if self._work.get("held") else max(0.0, takes - time.monotonic())
                outcome = box.get(timeout=left)
            except queue.Empty:
                return None
            if outcome is not None:
                return outcome
            self._told(turn, about, ids)
            stays = self._work.get("held") and not turn.lost and self._held.outlives_stop
            if not stays and not self._work.get("ignores_loss"):
                turn.check()

    def _told(self, turn: StoppableTurn, about: Json, ids: str) -> None:
        if turn.lost:
            ledger(self._work, "lost", turn, ids)
            self._tell({"event": "lost", "cause": cause_of(turn)} | about)
        else:
            self._tell({"event": "told_to_stop"} | about)
