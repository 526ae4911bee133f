"""What a session does for the turns it was given.

It knows which the application holds, tells when one is lost, and gives back those of which nobody learnt.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Final

from keyturn._gen import coordinator_pb2 as pb
from keyturn._metrics import Metrics
from keyturn._session.command import GivingBack, OwnCommand, WorkerCommand
from keyturn._session.given_turns import GivenTurn, GivenTurns
from keyturn._session.orphans import Orphans
from keyturn._turns.held import Held
from keyturn._turns.renewals import Renewals
from keyturn._wire import answers, requests
from keyturn.errors import KeyturnError, TurnLoss, TurnLostError
from keyturn.words import Turn, TurnRef

# How long a turn waits for a call with the ticket whose earlier call was given up, seconds: as the sidecar keeps a place.
_UNCLAIMED: Final = 10.0
_MOST_UNCLAIMED: Final = 10_000
# The most that one Renew may name.
_LARGEST_RENEW: Final = 1_000


class TurnKeeping:
    """The books of a session."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        renewals: Renewals,
        ask: Callable[[OwnCommand], None],
        metrics: Metrics | None,
    ) -> None:
        self._loop = loop
        self._renewals = renewals
        self._ask = ask
        self._metrics = metrics
        self._turns = GivenTurns()
        self._orphans: Orphans | None = None
        self._unclaimed: deque[tuple[float, TurnRef]] = deque()
        self._uncertain: set[GivenTurn] = set()

    @property
    def tied(self) -> int:
        """Turns that live as long as the session does."""
        return self._turns.tied

    def given(self, turn: Turn, tied: bool, ticket: str) -> None:
        if self._orphans is not None:
            self._orphans.claimed(_ref(turn))
        known = self._turns.find(turn.queue, turn.token)
        if known is not None:
            known.answers += 1
            self._certain(known)
            return
        self._turns.add(GivenTurn(turn, tied, ticket, self._renewals.drop))
        if self._metrics is not None:
            self._metrics.turn_granted(turn.queue)

    def undelivered(self, turn: Turn, ticket: str) -> None:
        if self._turns.find(turn.queue, turn.token) is not None:
            return
        if not ticket or len(self._unclaimed) >= _MOST_UNCLAIMED:
            self._give_back(_ref(turn))
        else:
            self._unclaimed.append((self._loop.time() + _UNCLAIMED, _ref(turn)))

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

    def _forget(self, given: GivenTurn) -> None:
        self._renewals.drop(given)
        self._uncertain.discard(given)
        self._turns.remove(given)

    def is_ended_by(self, command: WorkerCommand) -> bool:
        """It settles a turn that lives as long as the session: should it not come through, nobody else would."""
        settles = command.settles()
        if settles is None:
            return False
        given = self._turns.find(settles.queue, settles.token)
        return given is not None and given.tied

    def lost(self, queue: str, token: int, error: KeyturnError) -> None:
        given = self._turns.find(queue, token)
        if given is not None:
            self.lose(given, error.cause if isinstance(error, TurnLostError) else "unknown")

    def lose(self, held: Held, cause: TurnLoss) -> None:
        """Of a given turn and of any other that was held here."""
        self._renewals.drop(held)
        if self._metrics is not None and not held.lost:
            self._metrics.turn_lost(held.turn.queue, cause)
        if isinstance(held, GivenTurn):
            self._uncertain.discard(held)
            self._turns.lose(held, cause)
        else:
            held.lose(cause)

    def hold(self, turn: Turn, asked_at: float) -> Held:
        given = self._turns.find(turn.queue, turn.token)
        held: Held = given or Held(turn, self._renewals.drop)
        loss = self._turns.take_loss(turn)
        if loss is not None:
            held.lose(loss)
        # Not tied, or it has an end that may be that of a lease: then it is renewed as well, which harms no turn.
        if given is None or not given.tied or turn.lease_expires_at is not None:
            self._renewals.keep(held, asked_at)
        return held

    def notice(self, message: pb.Notice) -> None:
        if message.kind != pb.NOTICE_KIND_TURN_LOST:
            return
        turn = message.turn
        token = answers.token_of(turn.token)
        if self._orphans is not None:
            self._orphans.claimed(TurnRef(turn.queue, turn.key, token))
        given = self._turns.find(turn.queue, token)
        if given is not None:
            self.lose(given, answers.CAUSES.get(message.cause, "unknown"))

    def done(self, command: WorkerCommand) -> None:
        """A call of the application is open no more."""
        if self._orphans is not None:
            self._orphans.done(command)
            if self._orphans.is_empty:
                self._orphans = None

    def attached(self, told: Sequence[pb.TurnRef], commands: Sequence[WorkerCommand], stop_at: float) -> None:
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
            elif self._turns.was_given_up(ref):
                # It was delivered: no open call waits for it.
                self._give_back(ref)
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
        """The stream is gone, and with it what was to be told on it."""
        self._orphans = None
        # A new stream tells of those that live.
        self._unclaimed.clear()
        # Nobody would tell of the end of a lease. Who holds such a turn has it renewed; of the others nothing is kept.
        for given in self._turns.all():
            if not given.tied:
                self._turns.remove(given)

    def next_at(self, stop_at: float) -> float:
        """When `tick` is to be called."""
        moment = stop_at if self._turns.tied > 0 else inf
        for given in self._uncertain:
            moment = min(moment, given.safe_until)
        return min(moment, self._unclaimed[0][0]) if self._unclaimed else moment

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
        self._give_back_unclaimed(now)
        return is_silent

    def lose_all(self, cause: TurnLoss) -> None:
        self._renewals.close(cause)
        for given in self._turns.all():
            self.lose(given, cause)

    def close(self) -> None:
        """Nobody claims anything any more."""
        self._give_back_unclaimed(inf)
        if self._orphans is not None:
            self._orphans.give_back_all()
            self._orphans = None
        self.lose_all("closed")

    def _give_back_unclaimed(self, now: float) -> None:
        while self._unclaimed and now >= self._unclaimed[0][0]:
            ref = self._unclaimed.popleft()[1]
            if self._turns.find(ref.queue, ref.token) is None:
                self._give_back(ref)

    def _ask_for(self, missing: Sequence[GivenTurn], stop_at: float) -> None:
        for given in missing:
            given.safe_until = min(given.safe_until, stop_at)
            self._uncertain.add(given)
        for at in range(0, len(missing), _LARGEST_RENEW):
            batch = missing[at : at + _LARGEST_RENEW]
            message = requests.renew([_ref(given.turn) for given in batch], None)
            self._ask(OwnCommand("renew", message, partial(self._told, batch)))

    def _told(self, batch: Sequence[GivenTurn], reply: pb.Reply) -> None:
        # No answer leaves them as uncertain as they are.
        if reply.WhichOneof("outcome") != "renew":
            return
        for given, result in zip(batch, answers.renew(reply.renew), strict=False):
            # Its holder was told to stop before this answer came. A sidecar that adopted it would keep it for ever.
            if given.lost and result.alive:
                self._give_back(_ref(given.turn))
            elif result.alive:
                self._certain(given)
            else:
                self.lose(given, result.cause or "unknown")

    def _certain(self, given: GivenTurn) -> None:
        given.safe_until = inf
        self._uncertain.discard(given)

    def give_back(self, turn: Turn) -> None:
        """Its holder has done with it, though it was told that it lost it."""
        self._give_back(_ref(turn))

    def _give_back(self, turn: TurnRef) -> None:
        """As if it had not been given, whatever it carries. Should this be lost too, the next stream tells of it again."""
        self._ask(GivingBack("nack", requests.nack(turn, "release", None, "", 0)))


def _ref(turn: Turn) -> TurnRef:
    return TurnRef(turn.queue, turn.key, turn.token)
