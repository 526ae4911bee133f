"""Part of the build: the generated code is made before anything is packed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GenerateHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        scripts = Path(self.root) / "scripts"
        sys.path.insert(0, str(scripts))
        try:
            from generate import generate
        finally:
            sys.path.remove(str(scripts))
        generate(Path(self.root))
