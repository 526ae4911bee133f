"""The log of the client: `logging.getLogger("keyturn")`."""

from __future__ import annotations

import logging
from typing import Final

log: Final = logging.getLogger("keyturn")
