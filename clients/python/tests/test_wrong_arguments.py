"""Whatever is wrong with an argument is told at once, in the words of the client, and leaves no call behind."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from datetime import timedelta
from math import nan
from typing import Any

import pytest

import keyturn
from keyturn import Client, NewItem


class Leads:
    def execute(self, term: keyturn.Term) -> None:
        term.stopping.wait()


SECOND: Any = timedelta(seconds=1)
WRONG: dict[str, Callable[[Client], object]] = {
    "a timedelta as time-out": lambda client: client.enqueue("orders", "k", timeout=SECOND),
    "a timedelta as wait": lambda client: client.enqueue("orders", "k", wait=SECOND),
    "a text as time-out": lambda client: client.dequeue("orders", "k", token=1, timeout="5"),  # type: ignore[arg-type]
    "a negative time-out": lambda client: client.enqueue("orders", "k", timeout=-1),
    "no number as time-out": lambda client: client.enqueue("orders", "k", timeout=nan),
    "a key of bytes": lambda client: client.enqueue("orders", b"k"),  # type: ignore[arg-type]
    "a queue of bytes": lambda client: client.submit_batch(b"orders", [NewItem(b"1")]),  # type: ignore[arg-type]
    "no items": lambda client: client.submit_batch("orders", 5),  # type: ignore[arg-type]
    "items that are none": lambda client: client.submit_batch("orders", ["text"]),  # type: ignore[list-item]
    "follow-ups that are none": lambda client: client.ack("orders", "k", 1, follow_ups=[5]),  # type: ignore[list-item]
    "a result of text": lambda client: client.ack("orders", "k", 1, result="x"),  # type: ignore[arg-type]
    "turns that are none": lambda client: client.renew(5),  # type: ignore[arg-type]
    "a kind that is none": lambda client: client.nack("orders", "k", 1, "foo"),  # type: ignore[arg-type]
    "a token below zero": lambda client: client.dequeue("orders", "k", token=-1),
    "no queues": lambda client: client.consume(5, print),  # type: ignore[arg-type]
    "no handler": lambda client: client.consume("orders", 5),  # type: ignore[arg-type]
    "no spool": lambda client: client.producer("orders", spool="/tmp", on_error=print),  # type: ignore[arg-type]
    "a spool in bytes": lambda _: keyturn.Spool(b"/x"),  # type: ignore[arg-type]
    "a spool in a number": lambda _: keyturn.Spool(5),  # type: ignore[arg-type]
    "a spool in no path": lambda _: keyturn.Spool("/a\0b"),
    "no maker of a result": lambda client: client.with_turn("orders", "k", print, result=5),  # type: ignore[arg-type]
    "no item": lambda client: client.submit("orders", "text"),  # type: ignore[arg-type]
    "no state": lambda client: client.admin.list_keys("orders", state="nope"),
    "no name of a queue": lambda client: client.admin.list_keys(5),  # type: ignore[arg-type]
    "a time-out of the calls for people": lambda client: client.admin.list_queues(timeout="x"),  # type: ignore[arg-type]
    "a list as durability": lambda client: client.submit("orders", NewItem(b"1"), durability=[]),  # type: ignore[arg-type]
    "many items that are none": lambda client: client.submit_many("orders", 5),  # type: ignore[arg-type]
    "many items for no queue": lambda client: client.submit_many(5, [NewItem(b"1")]),  # type: ignore[arg-type]
    "an item for no queue": lambda client: client.submit(5, NewItem(b"1")),  # type: ignore[arg-type]
    "an item for a queue that is no Unicode": lambda client: client.submit("\ud800", NewItem(b"1")),
    "metadata that is a text": lambda client: client.lead("g", Leads(), metadata="x"),  # type: ignore[arg-type]
    "metadata that is a number": lambda client: client.lead("g", Leads(), metadata=5),  # type: ignore[arg-type]
    "a consumer's name in bytes": lambda client: client.consume("q", print, consumer_id=b"x"),  # type: ignore[arg-type]
    "a consumer's name that is no Unicode": lambda client: client.consume("q", print, consumer_id="\ud800"),
    "a consumer of a queue that is no Unicode": lambda client: client.consume("\ud800", print),
    "no turn to hold": lambda client: client.hold(None, 1.0),  # type: ignore[arg-type]
    "a time-out of a consumer's end": lambda client: client.consume("q", print).wait("x"),  # type: ignore[arg-type]
    "a time-out of a leader's end": lambda client: client.lead("g", Leads()).wait("x"),  # type: ignore[arg-type]
    "no tls": lambda _: keyturn.connect(tls="x"),  # type: ignore[arg-type]
    "a URL": lambda _: keyturn.connect("http://127.0.0.1:7420"),
    "no metrics": lambda _: keyturn.connect(metrics=5),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("transport", ["session", "unary"])
def test_a_wrong_argument_is_told(address: str, transport: Any, wrong: str) -> None:
    with keyturn.connect(address, transport=transport) as client, pytest.raises(keyturn.WrongArgumentError):
        WRONG[wrong](client)


@pytest.mark.parametrize("queue", [5, "\ud800"])
def test_a_wrong_queue_is_named_by_whatever_submits(client: Client, queue: Any) -> None:
    for submit in (lambda: client.submit(queue, NewItem(b"1")), lambda: client.submit_many(queue, [NewItem(b"1")])):
        with pytest.raises(keyturn.WrongArgumentError) as refused:
            submit()
        assert [one.field for one in refused.value.violations] == ["queue"]


class Indexed:
    """A sequence of the old kind."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> NewItem:
        return (NewItem(b"1"), NewItem(b"2"))[index]


def test_items_may_be_a_sequence_without_an_iterator(client: Client) -> None:
    items: Any = Indexed()
    assert len(client.submit_many("indexed", items)) == 2


def test_a_consumer_without_a_name_has_that_of_its_client(client: Client) -> None:
    client.consume("unnamed", print, consumer_id=None).stop()


def test_what_the_sidecar_refuses_is_told_in_its_words(client: Client) -> None:
    for key in ("", "k" * 1_025):
        with pytest.raises(keyturn.KeyturnError) as refused, client.turn("orders", key):
            pytest.fail("there is no such key")
        assert [one.field for one in refused.value.violations] == ["key"]
    with pytest.raises(keyturn.WrongArgumentError, match="the call takes"):
        client.enqueue("orders", "k" * 5_000_000)


ERRORS = [
    keyturn.KeyturnError("refused", "UNAVAILABLE", "DRAINING", keyturn.ErrorDetails(retry_after=1.5)),
    keyturn.WrongArgumentError("wait is -1", "wait"),
    keyturn.UnauthenticatedError("nobody", "UNAUTHENTICATED", "NO_CREDENTIALS"),
    keyturn.PermissionDeniedError("no", "PERMISSION_DENIED", "NOT_ALLOWED", keyturn.ErrorDetails({"verb": "view"})),
    keyturn.TurnLostError("lost", "evicted"),
    keyturn.TermLostError("backup", 7, "ttl"),
    keyturn.HandOverAskedError("backup", 7, "operator"),
    keyturn.Declined("already_done", result=b"made"),
    keyturn.Blocked(3, 0.5),
    keyturn.HoldTimeoutError("too long"),
    keyturn.ConsumerStoppedError("stopped"),
    keyturn.ItemFailedError("orders", "id", "dead", "why", 3),
    keyturn.SubmitManyError(ValueError("x"), [keyturn.SubmitResult("a", "accept")], [NewItem(b"1")]),
    keyturn.ProducerFullError("full"),
    keyturn.ProducerTimeoutError("id", 5),
    keyturn.ProducerClosedError("closed"),
    keyturn.SpoolError("torn", "file", "cut"),
    keyturn.RetryLater(5, "why", done=2),
    keyturn.DeadLetter("why"),
    keyturn.Release(),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_can_be_sent_to_another_process(error: BaseException) -> None:
    for made in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(made), str(made), made.__dict__) == (type(error), str(error), error.__dict__)


def test_all_errors_were_looked_at() -> None:
    exported = {value for _, value in inspect.getmembers(keyturn, inspect.isclass) if issubclass(value, BaseException)}
    assert exported == {type(error) for error in ERRORS} | {keyturn.NotGranted}
