"""A command on its way: what is sent, who waits for it, and what its answer means for the turns of the session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final, Generic, Protocol, TypeVar

from google.protobuf.message import Message

from keyturn._connection.call import Call
from keyturn._gen import coordinator_pb2 as pb
from keyturn._words.answers import unknown_word
from keyturn._words.status import command_error
from keyturn._words.worker_call import Taking, WorkerCall
from keyturn.errors import KeyturnError, TurnLoss, TurnLostError
from keyturn.words import Turn

A = TypeVar("A")

Confirm = Callable[[Sequence[Turn], float, Call[Any], Any], None]
"""Lets turns with a lease of their own be confirmed before an answer is handed on."""

_FIELDS: Final = pb.Command.DESCRIPTOR.fields_by_name
# A tag on the wire: the number of the field, and that a length follows.
_TAGS: Final = {name: bytes([field.number << 3 | 2]) for name, field in _FIELDS.items()}
_COMMANDS: Final = bytes([pb.SessionRequest.DESCRIPTOR.fields_by_name["commands"].number << 3 | 2])
_ID: Final = bytes([_FIELDS["id"].number << 3])


def varint(number: int) -> bytes:
    if number < 0x80:
        return bytes((number,))
    if number < 0x4000:
        return bytes((number & 0x7F | 0x80, number >> 7))
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


class Books(Protocol):
    """What an answer changes in the turns of a session."""

    def given(self, turn: Turn, tied: bool, ticket: str) -> None:
        """The turn was given. `tied`: asked for without a lease of its own."""

    def undelivered(self, turn: Turn, ticket: str) -> None:
        """Its caller had given up before the answer came. `ticket`: a call with it may still ask for the same turn."""

    def unread(self, turn: Turn, ticket: str) -> None:
        """It was booked as given, but its caller was cancelled before it read the answer."""

    def settled(self, queue: str, key: str, token: int | None, ticket: str) -> None:
        """The turn has ended by a call of ours."""

    def lost(self, queue: str, token: int, cause: TurnLoss) -> None:
        """The sidecar said that the turn is not ours."""


class Command:
    """Its bytes are made once: what is sent again after a break is what was sent."""

    __slots__ = ("body", "frame", "id", "sent_at")

    def __init__(self, name: str, message: Message) -> None:
        written = message.SerializeToString()
        self.body = _TAGS[name] + varint(len(written)) + written
        self.frame = b""
        self.id = 0
        self.sent_at = -inf
        """When it was handed to the stream that there is, by the clock."""

    def name(self, command_id: int) -> None:
        self.id = command_id
        number = varint(command_id)
        self.frame = b"".join((_COMMANDS, varint(1 + len(number) + len(self.body)), _ID, number, self.body))

    @property
    def is_sent(self) -> bool:
        return self.sent_at != -inf

    def answered(self, reply: pb.Reply, books: Books) -> None:
        raise NotImplementedError


class OwnCommand(Command):
    """A command of the session itself. It is dropped when its stream breaks, because a new stream begins anew."""

    __slots__ = ("_on_answer",)

    def __init__(self, name: str, message: Message, on_answer: Callable[[pb.Reply], None] | None = None) -> None:
        super().__init__(name, message)
        self._on_answer = on_answer

    def answered(self, reply: pb.Reply, books: Books) -> None:
        if self._on_answer is not None:
            self._on_answer(reply)


class GivingBack(OwnCommand):
    """A turn goes back that nobody got, or that was given up."""

    __slots__ = ()


class CallCommand(Command, Generic[A]):
    """A call of the application, with the future of its answer."""

    __slots__ = ("_confirm", "abandoned", "asked_at", "call", "code", "deadline", "follows", "future", "leave", "was_sent")

    def __init__(self, call: WorkerCall[A], future: Call[A], confirm: Confirm) -> None:
        super().__init__(call.field, call.request())
        self.call = call
        self.future = future
        self._confirm = confirm
        self.code = "OK"
        self.deadline = inf
        self.asked_at = 0.0
        self.follows = False
        """Its deadline depends on whether there is a sidecar."""
        self.abandoned = False
        """Its caller waits for it no more; the sidecar may still answer."""
        self.leave = False
        """When it is abandoned the place of its ticket is given up too."""
        self.was_sent = False
        """It was sent on a stream that broke: nobody knows whether the sidecar has it."""

    def claim(self) -> Taking | None:
        """Which places it may still claim with its ticket; None: it has no ticket."""
        taking = self.call.taking()
        return taking if taking is not None and taking.ticket else None

    def settles(self) -> tuple[str, int] | None:
        """Queue and token of the turn that it settles."""
        ended = self.call.ended()
        return None if ended is None or ended.token is None else (ended.queue, ended.token)

    def unsent(self) -> None:
        """The stream is gone, and it is to be sent again."""
        if self.is_sent:
            self.was_sent = True
        self.sent_at = -inf

    def abandon(self, error: KeyturnError | None) -> None:
        """Its caller waits no more; None: it called the call off itself."""
        self.abandoned = True
        if error is not None:
            self._fail(error)

    def answered(self, reply: pb.Reply, books: Books) -> None:
        try:
            outcome = reply.WhichOneof("outcome")
            if outcome == "error":
                self._refused(command_error(reply.error), books)
            elif outcome != self.call.field:
                raise unknown_word("outcome", outcome)
            else:
                self._read(self.call.read(getattr(reply, outcome)), books)
        except KeyturnError as error:
            self._fail(error)

    def _read(self, answer: A, books: Books) -> None:
        """Book what the answer means for the turns of the session, and hand it on."""
        call = self.call
        ended = call.ended()
        if ended is not None:
            books.settled(*ended)
        for ref, cause in call.losses(answer):
            books.lost(ref.queue, ref.token, cause)
        turns = call.turns(answer)
        taking = call.taking() if turns else None
        if taking is not None:
            self._gave(turns, taking, books)
        if taking is None or taking.tied or self.abandoned:
            self.future.resolve(answer)
        else:
            self._confirm(turns, self.asked_at, self.future, answer)

    def _gave(self, turns: Sequence[Turn], taking: Taking, books: Books) -> None:
        if self.abandoned:
            for turn in turns:
                books.undelivered(turn, "" if self.leave else taking.ticket)
            return
        for turn in turns:
            books.given(turn, taking.tied, taking.ticket)
        self.future.on_unread = lambda: self._unread(turns, taking.ticket, books)

    def _unread(self, turns: Sequence[Turn], ticket: str, books: Books) -> None:
        for turn in turns:
            books.unread(turn, "" if self.leave or self.future.leaves else ticket)

    def _refused(self, error: KeyturnError, books: Books) -> None:
        settles = self.settles()
        if settles is not None and error.reason == "TURN_LOST":
            books.lost(*settles, error.cause if isinstance(error, TurnLostError) else "unknown")
        self._fail(error)

    def _fail(self, error: KeyturnError) -> None:
        self.code = error.code
        self.future.reject(error)
