"""One worker's session with a sidecar, over as many streams as it takes, one at a time.

Calls are open from the moment they are asked until they are answered, whatever becomes of the streams: a new one says
hello with the same session id, settles which turns there are, and then every open call is sent again, in order. All
of them may be: tickets, item ids and tokens make the same call twice one call.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, Literal

from keyturn._connection.alarm import Alarm
from keyturn._connection.backoff import BackOff
from keyturn._connection.call import client_closed
from keyturn._connection.channel import Connection
from keyturn._gen import coordinator_pb2 as pb
from keyturn._session.command import CallCommand, GivingBack, OwnCommand
from keyturn._session.link import Link
from keyturn._session.liveness import Liveness
from keyturn._session.open_calls import OpenCalls
from keyturn._session.open_commands import OpenCommands, OpenLimits
from keyturn._session.outbox import Outbox
from keyturn._session.refusals import is_for_good, no_hello, silent, too_late
from keyturn._session.settlers import Settlers
from keyturn._session.turn_keeping import TurnKeeping
from keyturn._session.turns.held import Held
from keyturn._session.turns.renewals import Renewals
from keyturn._words import answers
from keyturn._words.log import log
from keyturn._words.metrics import Metrics
from keyturn.errors import KeyturnError
from keyturn.words import Turn

# How long the sidecar may take to end the stream of a client that was closed, seconds.
_FAREWELL: Final = 1.0
_LONGEST_BACK_OFF: Final = 2.0

_State = Literal["idle", "pausing", "greeting", "ready", "stopped"]
"""`idle`: no stream, and nobody needs one; `greeting`: hello is not answered yet; `stopped`: for good."""


class Session:
    """Belongs to one event loop. All of it is synchronous but the stream."""

    def __init__(
        self,
        connection: Connection,
        hello: pb.Hello,
        liveness: Liveness,
        limits: OpenLimits,
        renewals: Renewals,
        metrics: Metrics | None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._metrics = metrics
        self._hello = hello
        self._open = OpenCommands(limits)
        self._outbox = Outbox(self._open)
        self._back_off = BackOff(_LONGEST_BACK_OFF)
        self._liveness = liveness
        self.turns = TurnKeeping(self._loop, renewals, self._ask_own, metrics, lambda: liveness.margin)
        self._state: _State = "idle"
        self._link = Link(connection, lambda: self._outbox.message(self._loop.time()), self._take, self._broke)
        self._piped = False
        self._until = 0.0
        self._stop_error = client_closed()
        self._stop_loss: Literal["closed", "replaced"] = "closed"
        self._was_broken = False
        self._last_failure: KeyturnError | None = None
        self._is_closing = False
        # The stream broke while the client closes, and no new stream has listed yet which turns the session has.
        self._is_returning = False
        self._settlers = Settlers(self._loop, self._is_settling)
        self._calls = OpenCalls(self._loop, self._open, self.turns, self._ask_own, metrics)
        self._alarm = Alarm(self._loop, self._wake)

    def ask(self, command: CallCommand[Any], timeout: float | None) -> None:
        """The answer, or why there is none, comes in the future of the command."""
        is_over = self._is_closing or self._state == "stopped"
        refusal = self._stop_error if is_over else self._calls.refusal(command)
        if refusal is not None:
            command.abandon(refusal)
            return
        now = self._loop.time()
        is_new = self._calls.add(command, timeout, now, self._state == "ready")
        self._liveness.busy(now)
        if self._state == "ready" or (self._state == "greeting" and self._piped):
            self._outbox.push(command)
            self._link.wake()
        elif self._state == "idle":
            self._connect(now)
        if is_new:
            self._arm()

    def hold(self, turn: Turn, asked_at: float) -> Held:
        held = self.turns.hold(turn, asked_at)
        if self._is_closing or self._state == "stopped":
            self.turns.lose_all(self._stop_loss)
        return held

    def give_back(self, turn: Turn) -> None:
        if self._is_closing:
            self.turns.give_back(turn)

    def call_off(self) -> None:
        if self._state != "stopped" and not self._is_closing:
            self._is_closing = True
            self._is_returning = not self._link.is_open and self._calls.may_leave_turns()
            self.turns.close()
            self._calls.call_off_all(self._stop_error)

    async def close(self) -> None:
        """Returns when nothing is left of it."""
        self.call_off()
        await self.settled(_FAREWELL)
        if self._state == "ready" and self._open.workers == 0:
            self._link.begin_to_end()
        if self._state != "stopped":
            self._stop(self._stop_error, "closed")
        if not await self._link.close(_FAREWELL):
            log.debug("the sidecar did not end the stream in time")

    async def settled(self, timeout: float) -> None:
        """Wait until what was called off is answered, and what it brought has gone back: while there is a stream to hear it on."""
        await self._settlers.wait(timeout)

    def _is_settling(self) -> bool:
        if self._is_returning:
            return self._state != "stopped"
        if not self._link.is_open or self._state not in ("ready", "greeting"):
            return False
        return any(
            isinstance(command, GivingBack) or (isinstance(command, CallCommand) and command.abandoned)
            for command in self._open.all()
        )

    @property
    def _wanted(self) -> bool:
        """There is something that a stream is needed for."""
        return self._open.workers > 0 or self.turns.tied > 0 or self._is_returning

    def _ask_own(self, command: OwnCommand) -> None:
        # Without a stream there is nobody to ask. A turn that was to go back is listed by the next hello, and goes back then.
        if self._state not in ("ready", "greeting"):
            return
        self._open.add(command)
        self._outbox.push_urgent(command)
        self._link.wake()

    def _connect(self, now: float) -> None:
        workers = self._open.of_workers()
        self._piped = self.turns.tied == 0 and not any(command.was_sent for command in workers)
        self._state = "greeting"
        stop_at = self._liveness.stop_at
        self._outbox.clear()
        self._ask_own(OwnCommand("hello", self._hello, lambda reply: self._greeted(reply, stop_at)))
        if self._piped:
            for command in workers:
                self._outbox.push(command)
        self._link.open(now)
        self._arm()

    def _greeted(self, reply: pb.Reply, stop_at: float) -> None:
        if reply.WhichOneof("outcome") != "hello":
            self._broke(no_hello(reply))
            return
        if reply.hello.HasField("ttl"):
            self._liveness.ttl = answers.seconds(reply.hello.ttl)
        workers = self._open.of_workers()
        self._calls.attached(self._loop.time())
        self._link.stands()
        self._state = "ready"
        self._last_failure = None
        if self._was_broken:
            self._was_broken = False
            log.info("connected again; %d calls are open, %d turns held", len(workers), self.turns.tied)
            if self._metrics is not None:
                self._metrics.reconnected()
        # What it gives back goes before what is sent again, which may be about the same keys.
        self.turns.attached(reply.hello.turns, workers, stop_at)
        self._is_returning = False
        if not self._piped:
            for command in workers:
                self._outbox.push(command)
        self._link.wake()
        self._arm()

    def _take(self, message: pb.SessionResponse) -> None:
        if self._state == "stopped":
            return
        for reply in message.replies:
            command = self._open.take(reply.id)
            if command is None:
                continue
            self._liveness.proved(command.sent_at)
            command.answered(reply, self.turns)
            if isinstance(command, CallCommand):
                self._calls.done(command)
        # After the replies: the turn that a notice is about may have been given by one of them.
        for notice in message.notices:
            self.turns.notice(notice, self._open.of_workers)
        self._settlers.look()
        if not self._wanted:
            self._liveness.idle()
        else:
            self._arm()

    def _broke(self, error: KeyturnError) -> None:
        """The stream is of no use any more; `error` says why."""
        if not self._link.is_open or self._state == "stopped":
            return
        self._link.drop()
        now = self._loop.time()
        may_return = self._is_closing and not is_for_good(error) and error.reason != "SESSION_REPLACED"
        may_leave_turns = self._is_returning or self._calls.may_leave_turns() or self.turns.is_work_left
        self._is_returning = may_return and may_leave_turns
        if self._state == "ready" and now - self._link.since >= _LONGEST_BACK_OFF:
            self._back_off.reset()
        self._liveness.heard()
        self._outbox.clear()
        self.turns.detached()
        self._calls.forget_stream()
        self._calls.detached(now)
        self._settlers.look()
        if error.reason == "SESSION_REPLACED":
            log.warning("another client has the session: this one ends")
            self._stop(error, "replaced")
            return
        if self._last_failure is None:
            log.warning("the connection broke: %s", error)
        # A token that ended in the middle may have been replaced: the next stream shows the one of that moment.
        is_renewable = error.code == "UNAUTHENTICATED" and self._state == "ready"
        self._was_broken = True
        self._last_failure = error
        self._state = "idle"
        if is_for_good(error) and not is_renewable:
            self._fail(error)
        if self._wanted:
            self._state = "pausing"
            self._until = now + self._back_off.next()
        else:
            self._liveness.idle()
        self._arm()

    def _fail(self, error: KeyturnError) -> None:
        """Refuses what is open: it would not come through. What is asked later may."""
        self.turns.lose_all("unreachable")
        self._calls.refuse_all(error)

    def _stop(self, error: KeyturnError, loss: Literal["closed", "replaced"]) -> None:
        self._state = "stopped"
        self._stop_error = error
        self._stop_loss = loss
        self._alarm.cancel()
        self.turns.lose_all(loss)
        self._calls.refuse_all(error)
        self._outbox.clear()
        self._settlers.look()

    def _wake(self, late: float) -> None:
        now = self._loop.time()
        self._liveness.woke(now, late)
        self._calls.expire(now, self._too_late)
        has_given_up = self.turns.tick(now, self._liveness.stop_at)
        # If the stream is alive after all, the session still has the turns that were given up here: the next hello lists them.
        if has_given_up and self._state == "ready":
            self._broke(silent())
        elif self._state == "pausing" and now >= self._until:
            # Whoever needed a stream may be gone by now.
            self._state = "idle"
            if self._wanted:
                self._connect(now)
        elif self._link.is_open and self._wanted:
            self._prove(now)
        self._arm()

    def _prove(self, now: float) -> None:
        if now >= self._liveness.dead_at(self._link.since):
            self._broke(silent())
        elif self._state == "ready" and now >= self._liveness.prove_at:
            self._liveness.is_asked = True
            self._ask_own(OwnCommand("cancel", pb.Cancel(id=0), lambda _: self._liveness.heard()))

    def _too_late(self) -> KeyturnError:
        why = self._last_failure or ("" if self._state == "ready" else self._link.no_answer_yet())
        return too_late(str(why))

    def _arm(self) -> None:
        """One timer for everything that is due some time."""
        if self._state == "stopped":
            return
        moment = min(self._calls.first_deadline, self.turns.next_at(self._liveness.stop_at))
        if self._state == "pausing":
            moment = min(moment, self._until)
        elif self._link.is_open and self._wanted:
            moment = min(moment, self._liveness.dead_at(self._link.since))
            if self._state == "ready":
                moment = min(moment, self._liveness.prove_at)
        self._alarm.set(moment)
