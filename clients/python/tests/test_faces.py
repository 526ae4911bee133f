"""The client for threads shows what that of asyncio does: to a shell, to documentation, in a traceback."""

from __future__ import annotations

import inspect
import traceback
from typing import Any, get_type_hints

import pytest

import keyturn
from keyturn import views

ANSWERS: dict[str, object] = {
    "enqueue": keyturn.EnqueueAnswer,
    "acquire": list[keyturn.Delivery],
    "submit": keyturn.SubmitResult,
    "result": bytes | None,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_call_for_threads_shows_the_arguments_and_the_answer_of_the_awaited_one(name: str) -> None:
    awaited, blocking = getattr(keyturn.aio.Client, name), getattr(keyturn.Client, name)
    shown = inspect.signature(blocking)
    assert shown.parameters == inspect.signature(awaited).parameters
    assert (blocking.__name__, blocking.__doc__) == (name, awaited.__doc__)
    assert get_type_hints(blocking)["return"] == ANSWERS[name]
    assert not inspect.iscoroutinefunction(blocking)


def test_the_calls_for_people_show_it_too(client: keyturn.Client) -> None:
    assert get_type_hints(client.admin.explain_key)["return"] is views.KeyExplanation
    assert str(inspect.signature(client.admin.explain_key).return_annotation) == "views.KeyExplanation"


def test_a_traceback_names_the_call(client: keyturn.Client) -> None:
    wrong: Any = b"k"
    with pytest.raises(keyturn.WrongArgumentError) as refused:
        client.enqueue("orders", wrong)
    assert "enqueue" in [frame.name for frame in traceback.extract_tb(refused.value.__traceback__)]
