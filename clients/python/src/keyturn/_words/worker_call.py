"""What a transport carries: a call of a worker, whichever of the eight it is (see `calls`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from google.protobuf.message import Message

from keyturn._words.ids import Ids
from keyturn.words import LossCause, Turn, TurnRef

A = TypeVar("A")


def ref_of(turn: Turn) -> TurnRef:
    return TurnRef(turn.queue, turn.key, turn.token)


class Taking(NamedTuple):
    """Where a call takes turns: of one key, or (empty) of any key of these queues."""

    queues: Sequence[str]
    key: str
    ticket: str
    tied: bool
    """Asked for without a lease of their own."""


class Ended(NamedTuple):
    """The turn that a call ends: by its token, or else by its ticket."""

    queue: str
    key: str
    token: int | None
    ticket: str = ""


class WorkerCall(Generic[A]):
    """How a call is written and read, how long it may take, and what it does to turns.

    It may be sent again once its items are `named`.
    """

    __slots__ = ()
    rpc: ClassVar[str]
    """As a unary call."""
    field: ClassVar[str]
    """In a command and in its reply."""
    answer: ClassVar[type[Message]]
    keeps_or_ends: ClassVar[bool] = False
    """It ends or keeps what the application has. Room for it is found when there is none for new work."""

    @property
    def max_wait(self) -> float:
        """How long it may wait before it is answered, seconds."""
        return 0.0

    @property
    def leaves_wait(self) -> bool:
        """How long it waits only the sidecar knows."""
        return False

    def named(self, ids: Ids) -> WorkerCall[A]:
        """Items without an id get one: sent again after a lost answer, they would be others."""
        return self

    def request(self, consumer_id: str = "") -> Message:
        """`consumer_id`: who asks, if the call does not say. Raises TypeError and the like for what cannot be written."""
        raise NotImplementedError

    def read(self, message: Any) -> A:
        """Raises KeyturnError when the answer says what this client has no word for."""
        raise NotImplementedError

    def taking(self) -> Taking | None:
        """None: it takes no turns."""
        return None

    def turns(self, answer: A) -> Sequence[Turn]:
        """The turns that the answer gives."""
        return ()

    def ended(self) -> Ended | None:
        """None: it ends no turn."""
        return None

    def losses(self, answer: A) -> Iterable[tuple[TurnRef, LossCause]]:
        """The turns of which the answer says that they are lost."""
        return ()
