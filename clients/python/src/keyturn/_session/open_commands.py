"""Commands without their answer."""

from __future__ import annotations

from math import ceil
from typing import Any, Final, NamedTuple

from keyturn._session.command import CallCommand, Command
from keyturn.errors import KeyturnError


class OpenLimits(NamedTuple):
    """What may be open at once."""

    commands: int
    bytes: int


# Calls that end or keep turns find this much more room: without them nothing would ever be answered.
_BEYOND: Final = 1.125


class OpenCommands:
    """No two have the same id; an id is used again when its command is open no more.

    The dict keeps the order in which they were asked: what is sent again is sent in it.
    """

    def __init__(self, limits: OpenLimits) -> None:
        self._limits = limits
        self._most_beyond = ceil(limits.commands * _BEYOND)
        self._by_id: dict[int, Command] = {}
        self._free: list[int] = []
        self._last_id = 0
        self.workers = 0
        """Calls of the application, those included that it waits for no more."""
        self._bytes = 0

    def refusal(self, command: CallCommand[Any]) -> KeyturnError | None:
        """What stands against one more call of the application."""
        most = self._most_beyond if command.call.keeps_or_ends else self._limits.commands
        if self.workers >= most:
            return _too_many(f"{self.workers} calls are open; at most {most} may be (open_commands)")
        if self._bytes + len(command.body) > self._limits.bytes:
            what = f"open calls take {self._bytes} bytes, this one {len(command.body)}"
            return _too_many(f"{what}; at most {self._limits.bytes} may be taken (open_bytes)")
        return None

    def add(self, command: Command) -> None:
        if self._free:
            command.name(self._free.pop())
        else:
            self._last_id += 1
            command.name(self._last_id)
        self._by_id[command.id] = command
        if isinstance(command, CallCommand):
            self.workers += 1
            self._bytes += len(command.body)

    def has(self, command: Command) -> bool:
        return self._by_id.get(command.id) is command

    def take(self, command_id: int) -> Command | None:
        """The command with this id, which is open no more."""
        command = self._by_id.pop(command_id, None)
        if command is not None:
            self._free.append(command_id)
            if isinstance(command, CallCommand):
                self.workers -= 1
                self._bytes -= len(command.body)
        return command

    def remove(self, command: Command) -> None:
        if self.has(command):
            self.take(command.id)

    def all(self) -> list[Command]:
        """In the order in which they were asked."""
        return list(self._by_id.values())

    def of_workers(self) -> list[CallCommand[Any]]:
        """Those of the application, in the order in which they were asked."""
        return [command for command in self._by_id.values() if isinstance(command, CallCommand)]


def _too_many(message: str) -> KeyturnError:
    return KeyturnError(message, "RESOURCE_EXHAUSTED")
