"""The log of the client: `logging.getLogger("keyturn")`."""

from __future__ import annotations

import logging
import sys
import traceback
from contextlib import suppress
from typing import Final

# The one who logs, beneath the two functions here.
_CALLER: Final = 3


class SafeLog:
    """What filters, handlers and factories of the application raise must not break what the log tells of.

    It is told once, on stderr, as `logging` tells what its own handlers raise.
    """

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._has_raised = False

    def debug(self, message: str, *values: object) -> None:
        self._say(logging.DEBUG, message, values)

    def info(self, message: str, *values: object) -> None:
        self._say(logging.INFO, message, values)

    def warning(self, message: str, *values: object, exc_info: BaseException | None = None) -> None:
        self._say(logging.WARNING, message, values, exc_info)

    def error(self, message: str, *values: object) -> None:
        self._say(logging.ERROR, message, values)

    def exception(self, message: str, *values: object) -> None:
        """With the exception that is handled now."""
        self._say(logging.ERROR, message, values, sys.exc_info()[1])

    def _say(self, level: int, message: str, values: tuple[object, ...], error: BaseException | None = None) -> None:
        try:
            self._logger.log(level, message, *values, exc_info=error, stacklevel=_CALLER)
        except KeyboardInterrupt:
            raise
        except BaseException:  # SystemExit would end the code that waits for this thread.
            # Without stderr (pythonw) `print` would write on stdout.
            if not self._has_raised and logging.raiseExceptions and sys.stderr is not None:
                self._has_raised = True
                # There is no other place left.
                with suppress(Exception):
                    print("keyturn: the log raised; told this once", file=sys.stderr)
                    traceback.print_exc()


log: Final = SafeLog(logging.getLogger("keyturn"))
