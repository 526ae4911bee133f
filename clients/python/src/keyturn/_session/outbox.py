"""Commands that are open and not yet written to the stream, in order."""

from __future__ import annotations

from collections import deque
from typing import Final

from keyturn._session.command import Command
from keyturn._session.open_commands import OpenCommands
from keyturn._words.limits import MIB

# Bounds of one message. The sidecar takes up to 4 MiB; beyond some hundred commands a larger one is not faster.
_COMMANDS: Final = 1_024
_BYTES: Final = MIB


class Outbox:
    """The commands of the session itself go first: they are few, and the life of turns depends on them."""

    def __init__(self, commands: OpenCommands) -> None:
        self._open = commands
        self._waiting: deque[Command] = deque()
        self._urgent: deque[Command] = deque()

    def push(self, command: Command) -> None:
        self._waiting.append(command)

    def push_urgent(self, command: Command) -> None:
        self._urgent.append(command)

    def clear(self) -> None:
        """For a new stream: whoever owns a command that was not written pushes it again."""
        self._waiting.clear()
        self._urgent.clear()

    def message(self, now: float) -> bytes | None:
        """The next message, which counts as sent now; None when there is nothing to say."""
        frames: list[bytes] = []
        size = 0
        for line in (self._urgent, self._waiting):
            while line and len(frames) < _COMMANDS:
                command = line[0]
                # Abandoned before it was sent: nobody needs to know.
                if self._open.has(command):
                    if frames and size + len(command.frame) > _BYTES:
                        return b"".join(frames)
                    command.sent_at = now
                    frames.append(command.frame)
                    size += len(command.frame)
                line.popleft()
        return b"".join(frames) if frames else None
