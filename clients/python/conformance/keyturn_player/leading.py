"""What a leader does in each phase: as the request says it, told by events, and noted where all players do."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import keyturn
from keyturn_player.words import Json, from_bytes, put, seconds
from keyturn_player.work import Tell


class Career:
    """What both faces have in common."""

    def __init__(self, request: Json, tell: Tell) -> None:
        self.handle: str = request["handle"]
        self._career: Json = request.get("career", {})
        self._tell = tell

    def plan(self, phase: str) -> Json:
        return dict(self._career.get(phase, {}))

    def is_held(self, phase: str) -> bool:
        plan = self.plan(phase)
        return bool(plan.get("held")) or (phase == "execute" and "does" not in plan)

    def begins(self, phase: str, term: Any, more: Json) -> None:
        self._note("start", phase, term)
        self.event("phase", phase=phase, term=term.number, **more)
        # It blocks what it runs on.
        time.sleep(self.plan(phase).get("blocks_ms", 0) / 1_000)

    def ends(self, phase: str, term: Any) -> None:
        self._note("end", phase, term)
        self.event("phase_ended", phase=phase, term=term.number)

    def lost(self, term: Any) -> None:
        self.event("lost", term=term.number, cause=term.loss.loss)

    def done(self, phase: str, outcome: Json | None) -> Any:
        done = self.plan(phase).get("does", {}) if outcome is None else outcome
        if "throw" in done:
            raise RuntimeError(done["throw"])
        return done.get("state")

    def event(self, name: str, **more: Any) -> None:
        self._tell({"event": name, "handle": self.handle} | more)

    def _note(self, what: str, phase: str, term: Any) -> None:
        """In one write, so that lines of several players do not mix."""
        path = self._career.get("ledger")
        if path is None:
            return
        line = "\t".join((what, phase, term.group, str(term.number), term.candidate_id)) + "\n"
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def before(term: Any) -> Json:
    candidate_id, number, how, state = term.predecessor
    return {"predecessor": {"candidate_id": candidate_id, "term": number, "how": how, "state": from_bytes(state)}}


class Leading(Career):
    """With tasks."""

    def __init__(self, request: Json, tell: Tell) -> None:
        super().__init__(request, tell)
        self._held: asyncio.Future[Json] | None = None

    async def inaugurate(self, term: keyturn.aio.Term) -> None:
        await self._phase("inaugurate", term, before(term))

    async def execute(self, term: keyturn.aio.Term) -> None:
        await self._phase("execute", term, {})

    async def hand_over(self, term: keyturn.aio.Term, reason: str) -> Any:
        return await self._phase("hand_over", term, {"reason": reason})

    def finish(self, outcome: Json) -> bool:
        """False: nothing is held."""
        held = self._held
        if held is None or held.done():
            return False
        held.set_result(outcome)
        return True

    async def _phase(self, phase: str, term: keyturn.aio.Term, more: Json) -> Any:
        outcome: Json | None = None
        # Known as held before it is told.
        self._held = asyncio.get_running_loop().create_future() if self.is_held(phase) else None
        try:
            self.begins(phase, term, more)
            if self._held is not None:
                outcome = await self._outcome(phase, term, self._held)
            else:
                # A loss that came while it blocked is told here.
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.lost(term)
            raise
        finally:
            self._held = None
            self.ends(phase, term)
        return self.done(phase, outcome)

    async def _outcome(self, phase: str, term: keyturn.aio.Term, held: asyncio.Future[Json]) -> Json:
        if self.plan(phase).get("ignores_loss"):
            try:
                return await asyncio.shield(held)
            except asyncio.CancelledError:
                self.lost(term)
                return await held
        if phase == "hand_over":
            return await held
        stopping = asyncio.ensure_future(term.stopping.wait())
        try:
            await asyncio.wait((held, stopping), return_when=asyncio.FIRST_COMPLETED)
            if term.loss is not None:
                # It is cancelled in this moment.
                await asyncio.sleep(1)
            return held.result() if held.done() else {}
        finally:
            stopping.cancel()


def lead_options(request: Json) -> Json:
    return put(
        candidate_id=request.get("candidate_id"),
        ttl=seconds(request.get("ttl_ms")),
        margin=seconds(request.get("margin_ms")),
        inaugurate_timeout=seconds(request.get("inaugurate_timeout_ms")),
        hand_over_timeout=seconds(request.get("hand_over_timeout_ms")),
        metadata=request.get("metadata"),
        progress=request.get("progress"),
        once=request.get("once"),
    )
