"""The API of OpenTelemetry is an extra: who does not have it notices nothing."""

from __future__ import annotations

from importlib import import_module

from keyturn._words.tracing import Tracer, Tracing
from keyturn.errors import WrongArgumentError


def tracer_of(tracing: bool | Tracing | None) -> Tracer | None:
    """None: nobody traces. Raises WrongArgumentError when tracing was asked for and cannot be had."""
    if tracing is False:
        return None
    try:
        found = import_module("keyturn._tracing.open_telemetry")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        if tracing is None:
            return None
        what = (
            f"tracing is {tracing!r}, and opentelemetry-api is not installed; the extra `tracing` of the package brings it"
        )
        raise WrongArgumentError(what, "tracing") from error
    made: Tracer = found.OpenTelemetry(tracing if isinstance(tracing, Tracing) else Tracing())
    return made
