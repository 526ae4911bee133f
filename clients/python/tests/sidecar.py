"""A sidecar as a child process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MAIN = Path(os.environ.get("KEYTURN_SIDECAR_MAIN", ROOT / "dist/bundle/main.js"))


class Sidecar:
    """Begins to listen before the constructor returns; `kill` is `kill -9`."""

    def __init__(self, listen: str = "127.0.0.1:0", config: str = "", folder: Path | None = None) -> None:
        if not MAIN.is_file():
            raise RuntimeError(f"{MAIN} is not there: run `npm ci && npm run build` in the repository first")
        args = ["node", str(MAIN), "serve", "--listen", listen, "--http-listen", "127.0.0.1:0", "--console-listen", "off"]
        if config and folder is not None:
            file = folder / "keyturn.yaml"
            file.write_text(config)
            args += ["--config", str(file)]
        # Whoever starts again on a port that was free a moment ago may find that somebody connects from it just now.
        for left in reversed(range(1 if listen.endswith(":0") else 5)):
            self._process = subprocess.Popen(args, stderr=subprocess.PIPE, text=True)
            try:
                self.address = self._listening()
                break
            except RuntimeError:
                if left == 0:
                    raise
        threading.Thread(target=self._drain, daemon=True, name="sidecar-log").start()

    def _listening(self) -> str:
        log: list[str] = []
        assert self._process.stderr is not None
        for line in self._process.stderr:
            log.append(line)
            if '"listening"' in line:
                return str(json.loads(line)["grpc"])
        self._process.wait()
        self._process.stderr.close()
        raise RuntimeError(f"the sidecar did not start: {''.join(log)}")

    def _drain(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr:
            for _ in self._process.stderr:
                pass

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        """It says nothing any more; its connections stand."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def restarted(self) -> Sidecar:
        """Another one on the same address."""
        self.kill()
        return Sidecar(self.address)
