"""The worker of `worker.py` with asyncio."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

import keyturn


async def handle(work: keyturn.aio.Work) -> None:
    print("begun", work.key, flush=True)
    await asyncio.sleep(1)
    print("done", work.key, flush=True)


async def main() -> None:
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    async with keyturn.aio.connect() as client:
        await client.consume("orders", handle, concurrency=100)


if __name__ == "__main__":
    with suppress(asyncio.CancelledError):
        asyncio.run(main())
