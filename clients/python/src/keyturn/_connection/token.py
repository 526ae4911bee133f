"""The token that says who asks: from the options, a file that is read again, or a function."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from keyturn._words.options import TokenFile
from keyturn.errors import NO_DETAILS, UnauthenticatedError, WrongArgumentError

TokenSource = str | TokenFile | Callable[[], str | Awaitable[str]]
"""The token itself, a file that has it, or a function that gives it, called for each call and stream."""

Metadata = tuple[tuple[str, str], ...]

# For calls a file is not read more often, seconds.
_READ_EVERY: Final = 1.0
_LONGEST: Final = 8_192
_ALLOWED: Final = "a token, a TokenFile, or a callable that gives a token"
# What HTTP lets through in a header, without spaces.
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")


class Bearer:
    """Puts the token on every call and stream."""

    def __init__(self, source: TokenSource) -> None:
        self._give: Callable[[bool], str | Awaitable[str]]
        if isinstance(source, str):
            token = _checked("token", source)
            self._give = lambda _: token
        elif isinstance(source, TokenFile):
            self._give = _File(source.path).token
        elif callable(source):
            self._give = lambda _: source()
        else:
            raise WrongArgumentError(f"token is {source!r}; allowed is {_ALLOWED}", "token")

    async def metadata(self, anew: bool) -> Metadata:
        """`anew`: it is for what goes on for long, the token of this very moment counts.

        Raises UnauthenticatedError.
        """
        try:
            given = self._give(anew)
            token = await given if inspect.isawaitable(given) else given
            return (("authorization", f"Bearer {_checked('the token', token)}"),)
        except Exception as error:  # Whatever it is, it is why the call fails.
            raise UnauthenticatedError(f"no token: {error}", "UNAUTHENTICATED", "", NO_DETAILS) from error


class _File:
    """While it cannot be read, the last good token counts: who replaces it may be in the middle of it."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._token = self._read()
        self._read_at = time.monotonic()

    def token(self, anew: bool) -> str:
        now = time.monotonic()
        if anew or now - self._read_at >= _READ_EVERY:
            self._read_at = now
            with suppress(WrongArgumentError):
                self._token = self._read()
        return self._token

    def _read(self) -> str:
        try:
            with Path(self._path).open("rb") as file:
                # Room for the end of its line; what is longer is none.
                text = file.read(2 * _LONGEST)
        except (OSError, TypeError, ValueError) as error:
            raise WrongArgumentError(f"token.path is {str(self._path)!r}, which cannot be read: {error}", "token") from error
        return _checked(f"the token in {str(self._path)!r}", text.decode("latin-1").strip())


def _checked(name: str, token: object) -> str:
    """The token is a secret: no error shows it."""
    if not isinstance(token, str):
        raise WrongArgumentError(f"{name} is a {type(token).__name__}; needed is a text", "token")
    if len(token) > _LONGEST:
        raise WrongArgumentError(f"{name} has more than {_LONGEST} characters, which is the most that is allowed", "token")
    if not _TOKEN.fullmatch(token):
        what = "is empty, or has a space or a character beyond ASCII"
        raise WrongArgumentError(f'{name} {what}; needed is a token as "keyturn token new" prints it', "token")
    return token
