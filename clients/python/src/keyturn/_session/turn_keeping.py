"""What a session does for its turns: it knows who holds which, tells when one is lost, gives back those that nobody learnt of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, Final

from keyturn._gen import coordinator_pb2 as pb
from keyturn._session.command import CallCommand, GivingBack, OwnCommand
from keyturn._session.given_turns import GivenTurn, GivenTurns
from keyturn._session.orphans import Orphans
from keyturn._session.returning import Stopping, Unclaimed
from keyturn._session.turns.held import Held
from keyturn._session.turns.renewals import Renewals
from keyturn._words import answers, calls
from keyturn._words.limits import MOST_TURNS
from keyturn._words.metrics import Metrics
from keyturn._words.worker_call import ref_of
from keyturn.errors import TurnLoss
from keyturn.words import Turn, TurnRef

# AT_MOST_ONCE.
_FAILED_PRECONDITION: Final = 9
_SILENT: Final = "the worker was silent for longer than its session lives"


class TurnKeeping:
    """The books of a session."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        renewals: Renewals,
        ask: Callable[[OwnCommand], None],
        metrics: Metrics | None,
        margin_of_life: Callable[[], float],
    ) -> None:
        self._loop = loop
        self._margin_of_life = margin_of_life
        self._stopping = Stopping(loop, self._give_back_given_up)
        # None until the client closes. Then: the turns that were given and not settled, on which somebody may still work.
        self._left: dict[tuple[str, int], GivenTurn] | None = None
        self._renewals = renewals
        self._ask = ask
        self._metrics = metrics
        self._turns = GivenTurns()
        self._orphans: Orphans | None = None
        self._unclaimed = Unclaimed()
        self._uncertain: set[GivenTurn] = set()

    @property
    def tied(self) -> int:
        """Turns that live as long as the session does."""
        return self._turns.tied

    def given(self, turn: Turn, tied: bool, ticket: str) -> None:
        if self._orphans is not None:
            self._orphans.claimed(ref_of(turn))
        known = self._turns.find(turn.queue, turn.token)
        if known is not None:
            known.answers += 1
            self._certain(known)
            return
        if self._left is not None:
            # An Ack took it along, and nobody takes work any more.
            self._give_back(ref_of(turn))
            return
        self._turns.add(GivenTurn(turn, tied, ticket, self._released))
        if self._metrics is not None:
            self._metrics.turn_granted(turn.queue)

    def undelivered(self, turn: Turn, ticket: str) -> None:
        if self._turns.find(turn.queue, turn.token) is not None:
            return
        waits = ticket and self._left is None and self._unclaimed.add(ref_of(turn), self._loop.time())
        if not waits:
            self._give_back(ref_of(turn))

    def unread(self, turn: Turn, ticket: str) -> None:
        given = self._turns.find(turn.queue, turn.token)
        if given is None:
            return
        given.answers -= 1
        if given.answers == 0:
            self._forget(given)
            self.undelivered(turn, ticket)

    def settled(self, queue: str, key: str, token: int | None, ticket: str) -> None:
        given = self._turns.find_by_ticket(queue, key, ticket) if token is None else self._turns.find(queue, token)
        if given is not None:
            self._forget(given)
        if self._left is not None and token is not None:
            self._left.pop((queue, token), None)

    def _forget(self, given: GivenTurn) -> None:
        self._renewals.drop(given)
        self._uncertain.discard(given)
        self._turns.remove(given)

    def is_ended_by(self, command: CallCommand[Any]) -> bool:
        """It settles a turn that lives as long as the session: should it not come through, nobody else would."""
        settles = command.settles()
        if settles is None:
            return False
        given = self._turns.find(*settles)
        return given is not None and given.tied

    def lost(self, queue: str, token: int, cause: TurnLoss) -> None:
        given = self._turns.find(queue, token)
        if given is not None:
            self.lose(given, cause)

    def lose(self, held: Held, told: TurnLoss) -> None:
        """Of a given turn and of any other that was held here."""
        cause: TurnLoss = "unreachable" if self._is_over(held) else told
        self._renewals.drop(held)
        if self._metrics is not None and not held.lost:
            self._metrics.turn_lost(held.turn.queue, cause)
        if isinstance(held, GivenTurn):
            self._uncertain.discard(held)
            if cause == "closed" and self._left is not None:
                # Also one with a lease, which may be in no book any more.
                self._left[(held.turn.queue, held.turn.token)] = held
            if cause == "unreachable":
                held.end_at = self._loop.time() + self._margin_of_life()
                held.was_in_use = held.in_use
            self._turns.lose(held, cause)
        else:
            held.lose(cause)

    def _is_over(self, held: Held) -> bool:
        """It was lost by the clock before anything was told."""
        if self._renewals.is_over(held):
            return True
        return isinstance(held, GivenTurn) and held.safe_until <= self._loop.time()

    def hold(self, turn: Turn, asked_at: float) -> Held:
        given = self._turns.find(turn.queue, turn.token)
        held: Held = given or Held(turn, self._renewals.drop)
        if given is not None:
            given.in_use = True
        loss = self._turns.take_loss(turn)
        if loss is not None:
            held.lose(loss)
        # Not tied, or it has an end that may be that of a lease: then it is renewed as well, which harms no turn.
        if given is None or not given.tied or turn.lease_expires_at is not None:
            self._renewals.keep(held, asked_at)
        return held

    def notice(self, message: pb.Notice, commands: Callable[[], Sequence[CallCommand[Any]]]) -> None:
        """`commands`: calls that are open. What they settle is theirs to end, and they may be answered with a turn."""
        turn = message.turn
        token = answers.token_of(turn.token)
        if message.kind == pb.NOTICE_KIND_TURN_KEPT:
            self._kept(TurnRef(turn.queue, turn.key, token), commands())
        if message.kind != pb.NOTICE_KIND_TURN_LOST:
            return
        if self._orphans is not None:
            self._orphans.claimed(TurnRef(turn.queue, turn.key, token))
        self.lost(turn.queue, token, answers.CAUSES.get(message.cause, "unknown"))

    def _kept(self, ref: TurnRef, commands: Sequence[CallCommand[Any]]) -> None:
        """What the answer to the hello could not say: the session has this turn still. One that nobody knows goes back."""
        given = self._turns.find(ref.queue, ref.token)
        if given is not None:
            self._certain(given)
        elif not self._is_ended_elsewhere(ref, commands):
            # While the client closes no answer brings a turn to anybody.
            claimants = commands if self._left is None else ()
            self._orphans = self._orphans or Orphans([], [], self._give_back)
            self._orphans.add(ref, claimants)
            if self._orphans.is_empty:
                self._orphans = None

    def _is_ended_elsewhere(self, ref: TurnRef, commands: Sequence[CallCommand[Any]]) -> bool:
        """An open call settles it, or somebody worked on it who has a moment to end: then it goes back."""
        if any(command.settles() == (ref.queue, ref.token) for command in commands):
            return True
        if self._left is not None and (ref.queue, ref.token) in self._left:
            return True
        lost = self._turns.given_up(ref)
        if lost is not None:
            self._stopping.add(lost)
        return lost is not None

    def done(self, command: CallCommand[Any]) -> None:
        """A call of the application is open no more."""
        if self._orphans is not None:
            self._orphans.done(command)
            if self._orphans.is_empty:
                self._orphans = None

    def attached(self, told: Sequence[pb.TurnRef], commands: Sequence[CallCommand[Any]], stop_at: float) -> None:
        """A new stream has the session.

        Turns of which nobody here knows are given back; those that are known here and not there are asked for, and
        until the answer are no safer than they were (`stop_at`). What open calls settle is theirs to end.
        """
        settling = {command.settles() for command in commands}
        here: set[GivenTurn] = set()
        orphans: list[TurnRef] = []
        for turn in told:
            ref = TurnRef(turn.queue, turn.key, answers.token_of(turn.token))
            given = self._turns.find(ref.queue, ref.token)
            if given is not None:
                here.add(given)
            elif (ref.queue, ref.token) in settling:
                continue
            elif self._left is not None and (ref.queue, ref.token) in self._left:
                # Whoever works on it has a moment to end, and then gives it back.
                continue
            elif (lost := self._turns.given_up(ref)) is not None:
                # It was delivered: no open call waits for it.
                self._stopping.add(lost)
            else:
                orphans.append(ref)
        self._turns.forget_given_up({(turn.queue, answers.token_of(turn.token)) for turn in told})
        watched = Orphans(orphans, commands, self._give_back)
        self._orphans = None if watched.is_empty else watched
        missing: list[GivenTurn] = []
        for given in self._turns.all():
            if given in here:
                self._certain(given)
            elif given.tied:
                missing.append(given)
        self._ask_for(missing, stop_at)

    def detached(self) -> None:
        """The stream is gone. The next one lists the turns that live."""
        self._orphans = None
        self._unclaimed.clear()
        self._stopping.clear()
        # Nobody would say that a lease has ended. A turn that is held is renewed; the others are forgotten.
        for given in self._turns.all():
            if not given.tied:
                self._turns.remove(given)

    def next_at(self, stop_at: float) -> float:
        """When `tick` is to be called."""
        moment = stop_at if self._turns.tied > 0 else inf
        for given in self._uncertain:
            moment = min(moment, given.safe_until)
        return min(moment, self._stopping.next_at, self._unclaimed.next_at)

    def tick(self, now: float, stop_at: float) -> bool:
        """Whether tied turns were given up, which the session may have still."""
        is_silent = self._turns.tied > 0 and now >= stop_at
        if is_silent:
            for given in self._turns.all():
                if given.tied:
                    self.lose(given, "unreachable")
        for given in list(self._uncertain):
            if now >= given.safe_until:
                self.lose(given, "unreachable")
        self._stopping.tick(now)
        self._give_back_unclaimed(now)
        return is_silent

    def lose_all(self, cause: TurnLoss) -> None:
        self._renewals.close(cause)
        for given in self._turns.all():
            self.lose(given, cause)

    def close(self) -> None:
        """The client closes: nobody claims a turn any more, and every holder is told that its turn is lost."""
        self._left = {}
        self._give_back_unclaimed(inf)
        if self._orphans is not None:
            self._orphans.give_back_all()
            self._orphans = None
        self.lose_all("closed")

    def _give_back_unclaimed(self, now: float) -> None:
        for ref in self._unclaimed.due(now):
            if self._turns.find(ref.queue, ref.token) is None:
                self._give_back(ref)

    def _ask_for(self, missing: Sequence[GivenTurn], stop_at: float) -> None:
        for given in missing:
            given.safe_until = min(given.safe_until, stop_at)
            self._uncertain.add(given)
        for at in range(0, len(missing), MOST_TURNS):
            batch = missing[at : at + MOST_TURNS]
            message = calls.Renew([ref_of(given.turn) for given in batch], None).request()
            self._ask(OwnCommand("renew", message, partial(self._told, batch)))

    def _told(self, batch: Sequence[GivenTurn], reply: pb.Reply) -> None:
        # Without an answer they stay uncertain.
        if reply.WhichOneof("outcome") != "renew":
            return
        for given, result in zip(batch, answers.renew(reply.renew), strict=False):
            # Its holder was told to stop before this answer came. A sidecar that has adopted the turn would keep it for ever.
            if given.lost and result.alive:
                self._turns.give_up(given)
                self._stopping.add(given)
            elif result.alive:
                self._certain(given)
            else:
                self.lose(given, result.cause or "unknown")

    def _certain(self, given: GivenTurn) -> None:
        given.safe_until = inf
        self._uncertain.discard(given)

    def give_back(self, turn: Turn) -> None:
        """Its holder has done with it, though it was told that it lost it."""
        if self._left is not None:
            self._left.pop((turn.queue, turn.token), None)
        self._give_back(ref_of(turn))

    @property
    def is_work_left(self) -> bool:
        """Somebody works on a turn still, though the client is being closed."""
        return self._left is not None and any(given.in_use for given in self._left.values())

    def _released(self, held: Held) -> None:
        self._renewals.drop(held)
        if isinstance(held, GivenTurn):
            held.in_use = False
            self._stopping.ended(held)

    def _give_back(self, turn: TurnRef) -> None:
        """As if it had not been given, whatever it carries. Should this be lost too, the next stream tells of it again."""
        self._ask(GivingBack("nack", calls.Nack(turn, "release").request()))

    def _give_back_given_up(self, given: GivenTurn) -> None:
        """An attempt is counted, no matter which side notices the silence first. A queue that gives its items once counts none."""
        turn = ref_of(given.turn)
        if not given.was_in_use or given.turn.attempt == 0:
            self._give_back(turn)
            return

        def ended(reply: pb.Reply) -> None:
            if reply.WhichOneof("outcome") == "error" and reply.error.code == _FAILED_PRECONDITION:
                self._give_back(turn)

        self._ask(GivingBack("nack", calls.Nack(turn, "retry", error=_SILENT).request(), ended))
