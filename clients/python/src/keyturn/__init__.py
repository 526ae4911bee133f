"""The client of Keyturn, the sidecar that gives every key its turn.

`connect` makes a client for threads, `keyturn.aio.connect` one for asyncio. Log: `logging.getLogger("keyturn")`.
"""

from __future__ import annotations

from keyturn import aio, views
from keyturn._consume.options import Stage, Trouble
from keyturn._consume.turn_options import TurnBlocked, TurnDeclined, TurnDone, TurnOutcome
from keyturn._consume.verdict import DeadLetter, Done, Release, RetryLater, done
from keyturn._produce.options import ProducerResult
from keyturn._produce.spool.options import Spool
from keyturn._sync.client import Client
from keyturn._sync.connect import connect
from keyturn._sync.consumer import Consumer, Work
from keyturn._sync.held_turn import HeldTurn
from keyturn._sync.leadership import LeaderCareer, Leadership, Term
from keyturn._sync.producer import Producer
from keyturn._sync.scoped_turn import ScopedTurn
from keyturn._words.metrics import Metrics
from keyturn._words.options import Tls, TokenFile
from keyturn._words.tracing import Tracing
from keyturn._words.version import VERSION
from keyturn.errors import (
    Blocked,
    ConsumerStoppedError,
    Declined,
    ErrorDetails,
    FieldViolation,
    HandOverAskedError,
    HoldTimeoutError,
    ItemFailedError,
    KeyturnError,
    NotGranted,
    PermissionDeniedError,
    ProducerClosedError,
    ProducerFullError,
    ProducerTimeoutError,
    SpoolError,
    SubmitManyError,
    TermLoss,
    TermLostError,
    TurnLoss,
    TurnLostError,
    UnauthenticatedError,
    WrongArgumentError,
)
from keyturn.words import (
    AckAnswer,
    AcquireCall,
    AwaitAnswer,
    Delivery,
    DequeueAnswer,
    Durability,
    EnqueueAnswer,
    FollowUp,
    Item,
    ItemRef,
    NackAnswer,
    NewItem,
    Predecessor,
    RenewResult,
    SubmitResult,
    Turn,
    TurnRef,
)

__version__ = VERSION

__all__ = [
    "AckAnswer",
    "AcquireCall",
    "AwaitAnswer",
    "Blocked",
    "Client",
    "Consumer",
    "ConsumerStoppedError",
    "DeadLetter",
    "Declined",
    "Delivery",
    "DequeueAnswer",
    "Done",
    "Durability",
    "EnqueueAnswer",
    "ErrorDetails",
    "FieldViolation",
    "FollowUp",
    "HandOverAskedError",
    "HeldTurn",
    "HoldTimeoutError",
    "Item",
    "ItemFailedError",
    "ItemRef",
    "KeyturnError",
    "LeaderCareer",
    "Leadership",
    "Metrics",
    "NackAnswer",
    "NewItem",
    "NotGranted",
    "PermissionDeniedError",
    "Predecessor",
    "Producer",
    "ProducerClosedError",
    "ProducerFullError",
    "ProducerResult",
    "ProducerTimeoutError",
    "Release",
    "RenewResult",
    "RetryLater",
    "ScopedTurn",
    "Spool",
    "SpoolError",
    "Stage",
    "SubmitManyError",
    "SubmitResult",
    "Term",
    "TermLoss",
    "TermLostError",
    "Tls",
    "TokenFile",
    "Tracing",
    "Trouble",
    "Turn",
    "TurnBlocked",
    "TurnDeclined",
    "TurnDone",
    "TurnLoss",
    "TurnLostError",
    "TurnOutcome",
    "TurnRef",
    "UnauthenticatedError",
    "Work",
    "WrongArgumentError",
    "__version__",
    "aio",
    "connect",
    "done",
    "views",
]
