"""Makes an answer cross what its caller does meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import pytest

import keyturn
from keyturn._session.turns import confirmations
from keyturn.aio import Client

Kind = Literal["session", "unary"]
KINDS: list[Kind] = ["session", "unary"]


def at_the_answer(patch: pytest.MonkeyPatch, transport: Any, field: str, act: Callable[[], object]) -> None:
    """Act when the answer of the next such call is there, and before whoever waits for it has learnt of it."""
    ask = transport.ask

    def asked(call: Any, timeout: float | None) -> Any:
        answer = ask(call, timeout)
        if call.field == field:
            patch.setattr(transport, "ask", ask)
            answer.add_done_callback(lambda _: act())
        return answer

    patch.setattr(transport, "ask", asked)


async def is_free(client: Client, queue: str, key: str) -> bool:
    """Long before any lease or session ends."""
    answer = await client.enqueue(queue, key, wait=6, lease=0.5)
    return answer.decision == "accept"


async def answered(call: Any) -> Any:
    return await call


class LateRenew:
    """Every answer counts as so old that it is confirmed by a Renew, at which `act` is called."""

    def __init__(self, patch: pytest.MonkeyPatch, transport: Any, act: Callable[[], object]) -> None:
        self._transport, self._act, self._ask = transport, act, transport.ask
        transport._confirmations._ask = self._asked
        patch.setattr(confirmations, "_FRESH", 0)

    def _asked(self, *args: Any, **options: Any) -> Any:
        self._act()
        return self._ask(*args, **options)


class HeldBack:
    """From `begin` on what the sidecar says reaches the session only after it has sent a Cancel: the two cross."""

    def __init__(self, patch: pytest.MonkeyPatch, client: Client) -> None:
        session: Any = client._transport._session  # type: ignore[attr-defined]
        self._session = session
        self._take, self._ask = session._link._on_message, session._calls._ask
        self._messages: list[Any] = []
        self._is_holding = False
        self.has_answer = asyncio.Event()
        patch.setattr(session._link, "_on_message", self._on_message)
        patch.setattr(session._calls, "_ask", self._on_cancel)

    def begin(self) -> None:
        self._is_holding = True

    def _on_message(self, message: Any) -> None:
        if not self._is_holding:
            self._take(message)
            return
        self._messages.append(message)
        self.has_answer.set()

    def _on_cancel(self, command: Any) -> None:
        self._ask(command)
        self._is_holding = False
        for message in self._messages:
            self._take(message)
        self._messages.clear()


class CutAtCancel(HeldBack):
    """The stream breaks between a Cancel and its answer, and with it the answer that crossed the Cancel."""

    def _on_cancel(self, command: Any) -> None:
        self._ask(command)
        self._is_holding = False
        if self._messages:
            self._messages.clear()
            asyncio.get_running_loop().call_soon(self._session._broke, keyturn.KeyturnError("cut", "UNAVAILABLE"))
