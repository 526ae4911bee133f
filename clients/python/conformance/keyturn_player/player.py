"""Answers each request once; requests run at the same time."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import keyturn
from keyturn_player import pairs
from keyturn_player.calls import Calls
from keyturn_player.handles import Handles
from keyturn_player.leftovers import leftovers
from keyturn_player.threads.client import Client, in_thread
from keyturn_player.threads.handles import ThreadHandles
from keyturn_player.words import Json, from_error, put, seconds

_ENDING = 2.0


def _token(bearer: Json | None) -> Any:
    """How a client gets its token: one of these is said."""
    if bearer is None:
        return None
    if "file" in bearer:
        return keyturn.TokenFile(bearer["file"])
    if "fails" in bearer:
        return partial(_fail, bearer["fails"])
    return bearer["text"] if "text" in bearer else lambda: bearer["gives"]


def _fail(why: str) -> str:
    raise RuntimeError(why)


class Player:
    """`with_threads`: with the client for threads, not that for asyncio."""

    def __init__(self, with_threads: bool = False) -> None:
        self._with_threads = with_threads
        self._writing = threading.Lock()
        self._clients: dict[str, Any] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._calls = Calls(self._client)
        self._handles = (ThreadHandles if with_threads else Handles)(self._client, self._tell)
        self._ops: dict[str, Callable[[Json], Awaitable[Json]]] = {
            "hello": self._hello,
            "open": self._open,
            "close": self._close,
            "leftovers": self._leftovers,
            "cancel": self._cancel,
            "pairs": lambda request: pairs.pairs(self._client(request), request),
            "redis_pairs": pairs.redis_pairs,
            **self._calls.ops,
            **self._handles.ops,
        }

    def take(self, line: str) -> None:
        request: Json = json.loads(line)
        task = asyncio.get_running_loop().create_task(self._answer(request))
        self._tasks[request["id"]] = task
        task.add_done_callback(lambda _: self._tasks.pop(request["id"], None))

    async def end(self) -> None:
        closing = [client.close(timeout=_ENDING / 2) for client in self._clients.values()]
        if closing:
            await asyncio.wait([asyncio.ensure_future(one) for one in closing], timeout=_ENDING)
        for task in list(self._tasks.values()):
            task.cancel()

    async def _answer(self, request: Json) -> None:
        answer: Json = {"id": request["id"]}
        op = self._ops.get(request["op"])
        try:
            if op is None:
                answer["error"] = {"kind": "unsupported", "message": f"no op {request['op']}"}
            else:
                answer["ok"] = await op(request)
        except asyncio.CancelledError:
            answer["error"] = {"kind": "call", "code": "CANCELLED", "message": "the call was cancelled"}
        except Exception as error:  # Whatever it is, the driver is told.
            answer["error"] = from_error(error)
        self._tell(answer)

    def _tell(self, line: Json) -> None:
        with self._writing:
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()

    def _client(self, request: Json) -> Any:
        return self._clients[request["client"]]

    async def _hello(self, _: Json) -> Json:
        version = ".".join(map(str, sys.version_info[:3]))
        language = "python-sync" if self._with_threads else "python"
        return {"language": language, "version": keyturn.__version__, "runtime": f"Python {version}"}

    async def _open(self, request: Json) -> Json:
        tls = request.get("tls")
        options: Json = put(
            transport=request.get("transport", "session"),
            consumer_id=request.get("consumer_id", ""),
            session_id=request.get("session_id", ""),
            session_ttl=request.get("session_ttl_ms", 10_000) / 1_000,
            margin=seconds(request.get("margin_ms")),
            tls=None if tls is None else keyturn.Tls(**tls),
            token=_token(request.get("bearer")),
            open_commands=request.get("open_commands"),
            open_bytes=request.get("open_bytes"),
        )
        address = request["address"]
        if self._with_threads:
            client: Any = Client(await in_thread(keyturn.connect, address, **options))
        else:
            client = keyturn.aio.connect(address, **options)
        self._clients[request["client"]] = client
        return {}

    async def _close(self, request: Json) -> Json:
        await self._client(request).close(seconds(request.get("timeout_ms")))
        del self._clients[request["client"]]
        return {}

    async def _leftovers(self, _: Json) -> Json:
        # Tasks of requests that have no answer yet are the player's own, as this one is.
        return await leftovers(set(self._tasks.values()))

    async def _cancel(self, request: Json) -> Json:
        task = self._tasks.get(request["call"])
        call = self._calls.open.get(request["call"])
        if call is not None and request.get("leave"):
            call.leave()
        elif task is not None:
            task.cancel()
        return {}
