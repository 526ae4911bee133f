"""Reads requests from stdin until it ends."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading

from keyturn_player.player import Player


def main() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO)
    asyncio.run(run())


async def run() -> None:
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, None)

    reader = threading.Thread(target=read, name="stdin", daemon=True)
    reader.start()
    player = Player(with_threads="--sync" in sys.argv[1:])
    while (line := await lines.get()) is not None:
        if line.strip():
            player.take(line)
    await player.end()


main()
