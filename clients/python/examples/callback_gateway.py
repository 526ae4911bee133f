"""A worker that hands its work to another system, and a gateway that hears of the end and settles the turn.

The worker starts a job elsewhere with queue, key and token, and then leaves the turn alone; whoever knows the three may
settle it. The turn has a lease, so that a job of which nobody ever hears ends with it. The gateway is another process: a
web server's callback, for example.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import keyturn


class Job(NamedTuple):
    """What the other system sends back with its callback."""

    queue: str
    key: str
    token: int


def start(client: keyturn.Client, queue: str, key: str, lease: float) -> Job:
    """The worker: take the turn of a key for as long as the other system may take, seconds."""
    answer = client.enqueue(queue, key, lease=lease)
    if answer.turn is None:
        raise RuntimeError(f"no turn: {answer.decision}")
    # Not held here: the lease alone keeps it alive, also when this process ends.
    return Job(answer.turn.queue, answer.turn.key, answer.turn.token)


def callback(client: keyturn.Client, job: Job, succeeded: bool) -> bool:
    """The gateway: end the turn. False: it was lost meanwhile, so what the job did may not count."""
    try:
        client.dequeue(job.queue, job.key, token=job.token, abandoned=not succeeded)
    except keyturn.TurnLostError:
        return False
    return True


def main() -> None:
    """Both in one process, with a client each."""
    address = sys.argv[1] if len(sys.argv) > 1 else None
    with keyturn.connect(address) as worker:
        job = start(worker, "renders", "film-7", lease=3_600)
    with keyturn.connect(address) as gateway:
        print("settled" if callback(gateway, job, succeeded=True) else "lost")
        # A callback that comes twice does no harm.
        print("settled" if callback(gateway, job, succeeded=True) else "lost")


if __name__ == "__main__":
    main()
