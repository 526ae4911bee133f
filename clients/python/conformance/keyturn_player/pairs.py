"""As many pairs as the client can, and the same with the usual Redis client."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable

import redis.asyncio

from keyturn.aio import Client
from keyturn_player.words import Json

_COMPARE_AND_DELETE = """
if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end
return 0
"""


async def _run(request: Json, pair: Callable[[str], Awaitable[bool]]) -> Json:
    """`pair`: whether it was one. Each of those in flight goes through the keys from another place."""
    ends = time.monotonic() + request["seconds"]
    keys = [f"key-{number}" for number in range(request["keys"])]

    async def one(at: int) -> int:
        done = 0
        while time.monotonic() < ends:
            at = (at + 1) % len(keys)
            done += await pair(keys[at])
        return done

    in_flight = request["in_flight"]
    starts = [number * len(keys) // in_flight for number in range(in_flight)]
    return {"pairs": sum(await asyncio.gather(*(one(start) for start in starts)))}


async def pairs(client: Client, request: Json) -> Json:
    queue = request["queue"]

    async def pair(key: str) -> bool:
        turn = (await client.enqueue(queue, key)).turn
        if turn is None:
            return False
        await client.dequeue(queue, key, token=turn.token)
        return True

    return await _run(request, pair)


async def redis_pairs(request: Json) -> Json:
    host, _, port = request["address"].rpartition(":")
    client = redis.asyncio.Redis(host=host, port=int(port), max_connections=request["in_flight"], protocol=2)
    release = client.register_script(_COMPARE_AND_DELETE)

    async def pair(key: str) -> bool:
        token = secrets.token_hex(8)
        if not await client.set(key, token, nx=True, px=20_000):
            return False
        return bool(await release(keys=[key], args=[token]))

    try:
        return await _run(request, pair)
    finally:
        await client.aclose()
