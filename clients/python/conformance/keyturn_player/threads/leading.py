"""What a leader does in a thread: as the request says."""

from __future__ import annotations

import queue
import threading
from typing import Any

import keyturn
from keyturn_player.leading import Career, before
from keyturn_player.words import Json
from keyturn_player.work import Tell


class Leading(Career):
    def __init__(self, request: Json, tell: Tell) -> None:
        super().__init__(request, tell)
        # None: it is told to stop.
        self._held: queue.SimpleQueue[Json | None] | None = None

    def inaugurate(self, term: keyturn.Term) -> None:
        self._phase("inaugurate", term, before(term))

    def execute(self, term: keyturn.Term) -> None:
        self._phase("execute", term, {})

    def hand_over(self, term: keyturn.Term, reason: str) -> Any:
        return self._phase("hand_over", term, {"reason": reason})

    def finish(self, outcome: Json) -> bool:
        """False: nothing is held."""
        held = self._held
        if held is None:
            return False
        held.put(outcome)
        return True

    def _phase(self, phase: str, term: keyturn.Term, more: Json) -> Any:
        # Known as held before it is told.
        held: queue.SimpleQueue[Json | None] = queue.SimpleQueue()
        self._held = held if self.is_held(phase) else None
        over = threading.Event()
        told = threading.Thread(target=self._tells, args=(phase, term, held, over), name="player", daemon=True)
        told.start()
        outcome: Json | None = None
        try:
            self.begins(phase, term, more)
            if self._held is not None:
                outcome = held.get() or {}
        finally:
            self._held = None
            over.set()
            told.join()
            if term.lost and not self.plan(phase).get("ignores_loss"):
                self.lost(term)
            self.ends(phase, term)
        return self.done(phase, outcome)

    def _tells(self, phase: str, term: keyturn.Term, held: queue.SimpleQueue[Json | None], over: threading.Event) -> None:
        """Ends what is held when it has to stop, unless it ignores that."""
        stop = term.losing if phase == "hand_over" else term.stopping
        while not over.wait(0.005):
            if stop.is_set():
                if self.plan(phase).get("ignores_loss"):
                    self.lost(term)
                else:
                    held.put(None)
                return
