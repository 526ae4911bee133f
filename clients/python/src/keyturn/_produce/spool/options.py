"""Settings of a spool, checked."""

from dataclasses import dataclass
from pathlib import Path

from keyturn._words.checks import count_within, number_within
from keyturn._words.limits import MIB
from keyturn.errors import WrongArgumentError


@dataclass(frozen=True)
class Spool:
    """Where a producer keeps items while the sidecar cannot be reached."""

    directory: str | Path
    """Of this producer alone; made if it is not there. What it has from an earlier run is handed over first."""
    interval: float = 0.05
    """What was written is synced to disk after this, seconds, 0.001 to 60."""
    count: int = 1_000
    """Or after this many items, 1 to 100,000."""
    max_bytes: int = 256 * MIB
    """The most that it may take on disk, 64 KiB to 1 TiB. Then `when_full` of the producer applies."""
    patience: float = 1.0
    """How long a Submit may go unanswered before the sidecar is taken to be away, seconds, 0.001 to 60."""

    def __post_init__(self) -> None:
        if not isinstance(self.directory, (str, Path)) or not str(self.directory) or "\0" in str(self.directory):
            what = "needed is the path of a directory, as a text or a Path"
            raise WrongArgumentError(f"spool.directory is {self.directory!r}; {what}", "spool.directory")
        number_within("spool.interval", self.interval, 0.001, 60)
        count_within("spool.count", self.count, 1, 100_000)
        count_within("spool.max_bytes", self.max_bytes, 65_536, MIB * MIB)
        number_within("spool.patience", self.patience, 0.001, 60)
