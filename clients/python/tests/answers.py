"""What happens at the moment of an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


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
