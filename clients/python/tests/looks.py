"""What tests look for in what is shown."""

from __future__ import annotations

from keyturn import views


def holder_of(told: views.KeyExplanation) -> views.Holder:
    """Somebody holds the key."""
    assert told.holder is not None
    return told.holder
