"""Tasks that run code of the application, for which the client waits when it is closed."""

from __future__ import annotations

import asyncio
from typing import Any


class RunningTasks:
    """Those of one consumer or leader, or of all of a client. Code in one of them cannot wait for what waits for it."""

    def __init__(self, of_client: RunningTasks | None = None) -> None:
        self._of_client = of_client
        self._tasks: set[asyncio.Future[Any]] = set()

    def add(self, task: asyncio.Future[Any]) -> None:
        """Until it is done."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self._of_client is not None:
            self._of_client.add(task)

    def refuse(self, what: str) -> None:
        """Raise if the current task is one of them. Tasks that it began are not known here."""
        if asyncio.current_task() in self._tasks:
            raise RuntimeError(f"{what}: let another task do that")
