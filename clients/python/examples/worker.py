"""A worker as a service runs it: SIGTERM and Ctrl+C let handlers finish, give back what was not begun, and end the process.

A second signal does not wait for them any more.
"""

from __future__ import annotations

import signal
import sys

import keyturn


def handle(work: keyturn.Work) -> None:
    print("begun", work.key, flush=True)
    # The work: a second here. One that takes long looks whether it must stop.
    work.stopping.wait(1)
    work.check()
    print("done", work.key, flush=True)


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        # It is raised in the main thread, where it waits: the `with` blocks end, as with any exception.
        signal.signal(number, lambda *_: sys.exit())
    with keyturn.connect() as client:
        client.consume("orders", handle, concurrency=8).wait()


if __name__ == "__main__":
    main()
