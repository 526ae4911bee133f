"""Methods of the asyncio client as methods for threads: one signature, one documentation, one place for defaults."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from keyturn._sync.loop_thread import LoopThread

P = ParamSpec("P")
A = TypeVar("A")
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)


class OverAio(Protocol[S_co]):
    """Stands on an object of the asyncio client, whose loop runs in this thread."""

    @property
    def _thread(self) -> LoopThread: ...

    @property
    def _aio(self) -> S_co: ...


def waiting(method: Callable[Concatenate[S, P], Awaitable[A]]) -> Callable[Concatenate[OverAio[S], P], A]:
    """The same method, which blocks its thread until the answer is there, and returns it."""

    def wait(self: OverAio[S], /, *args: P.args, **options: P.kwargs) -> A:
        return self._thread.call(partial(method, self._aio, *args, **options))

    # A traceback and a profiler tell which call it was.
    wait.__code__ = wait.__code__.replace(co_name=method.__name__)
    # Type checkers know it from the types; whoever asks at run time (documentation, a shell) shall see it too.
    shown: Any = wraps(method)(wait)
    signature = inspect.signature(method)
    answer = re.sub(r"^Call\[(.*)\]$", r"\1", signature.return_annotation)
    shown.__signature__ = signature.replace(return_annotation=answer)
    shown.__annotations__ = {**method.__annotations__, "return": answer}
    return wait
