"""The calls of the application that a session has, from the moment they are asked until they are answered or given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from typing import Any, Final

from keyturn._gen import coordinator_pb2 as pb
from keyturn._session.command import CallCommand, Command, GivingBack, OwnCommand
from keyturn._session.open_commands import OpenCommands
from keyturn._session.turn_keeping import TurnKeeping
from keyturn._words.limits import GRACE, MIB
from keyturn._words.metrics import Metrics
from keyturn.errors import KeyturnError, WrongArgumentError

# A message of more bytes ends the stream, with everything on it.
_LARGEST_CALL: Final = 4 * MIB - 64
# Between two looks at all open calls, seconds: with deadlines all over the place, one may be this late.
_COARSE: Final = 0.05


class OpenCalls:
    """Each ends once: by its answer, its deadline, its caller, or the end of the session."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        commands: OpenCommands,
        turns: TurnKeeping,
        ask: Callable[[OwnCommand], None],
        metrics: Metrics | None,
    ) -> None:
        self._loop = loop
        self._open = commands
        self._turns = turns
        self._ask = ask
        self._metrics = metrics
        self.first_deadline = inf
        """No call is to be given up before this, by the clock."""

    def refusal(self, command: CallCommand[Any]) -> KeyturnError | None:
        """What stands against one more call."""
        size = len(command.body)
        if size > _LARGEST_CALL:
            return WrongArgumentError(f"the call takes {size} bytes; at most {_LARGEST_CALL} are allowed")
        return self._open.refusal(command)

    def add(self, command: CallCommand[Any], timeout: float | None, now: float, is_there: bool) -> bool:
        """Returns whether the alarm must be set anew. `is_there`: the sidecar has answered hello.

        A call that leaves its wait to the queue has no deadline of its own: while there is a sidecar it may take the longest wait,
        and without one no longer than a call that does not wait.
        """
        command.asked_at = now
        command.follows = timeout is None and command.call.leaves_wait
        wait = 0.0 if command.follows and not is_there else command.call.max_wait
        command.deadline = now + (wait + GRACE if timeout is None else timeout)
        command.future.on_cancel = lambda leave: self._called_off(command, leave)
        self._open.add(command)
        if command.deadline < self.first_deadline:
            self.first_deadline = command.deadline
            return True
        # From now on silence means something.
        return self._open.workers == 1

    def attached(self, now: float) -> None:
        """The sidecar has answered hello."""
        for command in self._open.of_workers():
            if command.follows:
                command.deadline = now + command.call.max_wait + GRACE

    def detached(self, now: float) -> None:
        """There is no sidecar: calls that leave their wait to the queue end soon. A second failure gives them no more time."""
        for command in self._open.of_workers():
            if command.follows:
                command.deadline = min(command.deadline, now + GRACE)
                self.first_deadline = min(self.first_deadline, command.deadline)

    def done(self, command: CallCommand[Any]) -> None:
        """It was answered, or its caller has given up."""
        self._turns.done(command)
        if not command.abandoned:
            self._count(command)

    def expire(self, now: float, too_late: Callable[[], KeyturnError]) -> None:
        """Give up those whose deadline has come."""
        if now < self.first_deadline:
            return
        following = inf
        for command in self._open.of_workers():
            if command.abandoned:
                continue
            if command.deadline <= now:
                self._abandon(command, too_late())
            elif command.deadline < following:
                following = command.deadline
        self.first_deadline = inf if following == inf else max(following, now + _COARSE)

    def may_leave_turns(self) -> bool:
        """Whether the sidecar may have given or kept a turn that nobody here knows of, because an answer is missing."""
        return any(_may_leave_turns(command) for command in self._open.all())

    def call_off_all(self, error: KeyturnError) -> None:
        """Their callers wait no more. What was sent and may bring a turn stays open until it is answered."""
        for command in self._open.of_workers():
            if not command.abandoned:
                command.leave = command.future.leaves
                command.future.on_cancel = None
                self._abandon(command, error, ends=command.call.max_wait > 0)

    def refuse_all(self, error: KeyturnError) -> None:
        """Nothing that is open comes through any more."""
        for command in self._open.all():
            self._open.remove(command)
            if isinstance(command, CallCommand):
                if not command.abandoned:
                    command.abandon(error)
                    self._count(command)
                self.done(command)

    def forget_stream(self) -> None:
        """What belonged to the stream alone, and calls that nobody waits for, unless a turn would be kept without them."""
        for command in self._open.all():
            if isinstance(command, CallCommand) and (not command.abandoned or self._turns.is_ended_by(command)):
                command.unsent()
            else:
                self._open.remove(command)

    def _called_off(self, command: CallCommand[Any], leave: bool) -> None:
        command.leave = leave
        command.code = "CANCELLED"
        self._abandon(command, None)

    def _abandon(self, command: CallCommand[Any], error: KeyturnError | None, ends: bool = True) -> None:
        """`ends`: the sidecar is told to end it; what does not wait is carried out anyhow."""
        if command.abandoned:
            return
        if not self._open.has(command):
            # Its answer is there; it waits until its turns are confirmed.
            command.future.unread()
            return
        command.abandon(error)
        self._count(command)
        if command.is_sent:
            # It stays open until the sidecar has answered it, in one way or the other: it may bring a turn.
            if ends:
                self._ask(OwnCommand("cancel", pb.Cancel(id=command.id, leave=command.leave)))
            return
        if self._turns.is_ended_by(command):
            return
        self._open.remove(command)
        self.done(command)

    def _count(self, command: CallCommand[Any]) -> None:
        if self._metrics is not None:
            self._metrics.call_done(command.call.field, command.code, self._loop.time() - command.asked_at)


def _may_leave_turns(command: Command) -> bool:
    if not isinstance(command, CallCommand):
        return isinstance(command, GivingBack)
    if not (command.is_sent or command.was_sent):
        return False
    return command.call.keeps_or_ends or command.call.taking() is not None
