"""What may be said of a candidacy, checked before anything is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from keyturn._words.checks import is_text, number_within, word_within
from keyturn._words.item_limits import queue_problem
from keyturn._words.limits import DAY
from keyturn.errors import WrongArgumentError

Progress = Literal["timer", "manual"]

DEFAULT_STOP: Final = 20.0
"""How long a leader may take for its hand-over when it is stopped, or its client closed, seconds."""
_HOUR: Final = 3_600
_MOST_STATE: Final = 65_536
_MOST_ENTRIES: Final = 64
_MOST_METADATA: Final = 8_192
_LARGEST_MARGIN: Final = 2.0


@dataclass(frozen=True)
class LeadSettings:
    """Seconds. Without a `candidate_id` it has one."""

    group: str
    candidate_id: str
    ttl: float
    margin: float | None
    inaugurate_timeout: float
    hand_over_timeout: float
    metadata: Mapping[str, str]
    progress: Progress
    once: bool

    def __post_init__(self) -> None:
        problem = "is no text" if not isinstance(self.group, str) else queue_problem(self.group)
        if problem is not None:
            raise WrongArgumentError(f"group is {problem}", "group")
        # What cannot be sent would break the stream of all.
        if not is_text(self.candidate_id) or not 1 <= len(self.candidate_id.encode()) <= 256:
            told = f"candidate_id is {self.candidate_id!r:.40}; allowed is a text of 1 to 256 bytes"
            raise WrongArgumentError(told, "candidate_id")
        number_within("ttl", self.ttl, 0.5, _HOUR)
        if self.margin is not None:
            number_within("margin", self.margin, 0, _HOUR)
        number_within("inaugurate_timeout", self.inaugurate_timeout, 0.1, DAY)
        number_within("hand_over_timeout", self.hand_over_timeout, 0.1, DAY)
        word_within("progress", self.progress, ("timer", "manual"))
        self._check_metadata()

    def _check_metadata(self) -> None:
        if not isinstance(self.metadata, Mapping):
            raise WrongArgumentError(f"metadata is {self.metadata!r:.80}; allowed is a mapping of texts", "metadata")
        texts = [text for entry in self.metadata.items() for text in entry]
        if not all(is_text(text) for text in texts):
            raise WrongArgumentError(f"metadata is {dict(self.metadata)!r:.80}; allowed are texts in Unicode", "metadata")
        size = sum(len(text.encode()) for text in texts)
        if len(self.metadata) > _MOST_ENTRIES or size > _MOST_METADATA:
            told = f"metadata has {len(self.metadata)} entries of {size} bytes"
            raise WrongArgumentError(f"{told}; allowed are {_MOST_ENTRIES} of {_MOST_METADATA} bytes together", "metadata")

    def margin_of(self, ttl: float) -> float:
        """How long before the end of a term its worker is told to stop."""
        return min(ttl / 10, _LARGEST_MARGIN) if self.margin is None else min(self.margin, ttl * 0.8)


def metadata_of(given: Mapping[str, str] | None) -> Mapping[str, str]:
    """As it is now: the caller may change it. What is no mapping is refused with the other options."""
    return dict(given) if isinstance(given, Mapping) else {} if given is None else given


def state_of(left: object) -> bytes:
    """What a hand-over leaves. One that the sidecar would refuse ends no term."""
    if left is None:
        return b""
    state = left.encode() if isinstance(left, str) and is_text(left) else left
    if not isinstance(state, (bytes, bytearray, memoryview)):
        raise WrongArgumentError(f"state is {left!r:.40}; allowed are bytes, a text in Unicode, or None", "state")
    # A view of numbers counts numbers.
    size = state.nbytes if isinstance(state, memoryview) else len(state)
    if size > _MOST_STATE:
        raise WrongArgumentError(f"state has {size} bytes; allowed are up to {_MOST_STATE}", "state")
    return bytes(state)
