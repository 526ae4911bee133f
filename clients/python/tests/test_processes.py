"""How processes end that use the client, and what forks have of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import keyturn
from keyturn import NewItem
from tests.sidecar import Sidecar

FOLDER = Path(__file__).resolve().parent.parent


def run(program: str, *args: str) -> subprocess.CompletedProcess[str]:
    """It ends within 30 s, or the test fails. Without gRPC's fork handlers: with them one child in two crashes."""
    environment = os.environ | {"GRPC_ENABLE_FORK_SUPPORT": "0"}
    command = [sys.executable, "-W", "default::ResourceWarning", "-c", program, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, env=environment)


@pytest.mark.parametrize("example", ["worker.py", "aio_worker.py"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_handlers_finish(own_sidecar: list[Sidecar], example: str, number: signal.Signals) -> None:
    address = own_sidecar[0].address
    command = [sys.executable, str(FOLDER / "examples" / example)]
    environment = os.environ | {"KEYTURN_ADDRESS": address}
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        with keyturn.connect(address) as client:
            submitted = client.submit("orders", NewItem(b"1", key="ada"))
            assert worker.stdout is not None
            assert worker.stdout.readline() == "begun ada\n"
            worker.send_signal(number)
            printed, log = worker.communicate(timeout=20)
            assert (printed, log, worker.returncode) == ("done ada\n", "", 0)
            assert client.await_item("orders", submitted.item_id).state == "done"
    finally:
        worker.kill()


FORKS = """
import keyturn, os, sys, warnings
warnings.simplefilter("error")

def fork(what):
    child = os.fork()
    if child == 0:
        what()
        sys.exit(0)  # Runs what is registered for the end, as a fork of a server does.
    print("parent:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)

def with_what_the_parent_had():
    try:
        client.enqueue(sys.argv[2], "b")
    except keyturn.KeyturnError as error:
        print("child:", error, flush=True)
    client.close()
    try:
        keyturn.connect(sys.argv[1])
    except RuntimeError as error:
        print("child:", error, flush=True)

def with_a_client_of_its_own():
    with keyturn.connect(sys.argv[1]) as own:
        print("child:", own.enqueue(sys.argv[2], "b").decision, flush=True)

client = keyturn.connect(sys.argv[1])
token = client.enqueue(sys.argv[2], "a").turn.token
fork(with_what_the_parent_had)
print("parent:", client.dequeue(sys.argv[2], "a", token=token).waiting, flush=True)
client.close()
fork(with_a_client_of_its_own)
"""


def test_a_fork_is_told_to_connect_itself(address: str, queue: str) -> None:
    ended = run(FORKS, address, queue)
    inherited = "child: the client was made before a fork: connect in the process that uses it"
    broken = "child: this process was forked while a client was open, and gRPC does not work in it"
    told = [line.partition(": fork before")[0] for line in ended.stdout.splitlines()]
    assert told == [inherited, broken, "parent: 0", "parent: 0", "child: accept", "parent: 0"], ended.stderr


UNCLOSED_SPOOL = """
import keyturn, pathlib, sys
client = keyturn.connect(sys.argv[1])
spool = keyturn.Spool(sys.argv[2], interval=60, patience=0.1)
producer = client.producer("orders", spool=spool, on_error=print)
futures = [producer.add(keyturn.NewItem(b"%d" % n)) for n in range(3)]
while not any(file.stat().st_size > 80 for file in pathlib.Path(sys.argv[2]).glob("*.spool")):
    pass
print("ends")
"""


def test_a_program_that_forgets_to_close_leaves_its_items_on_disk(tmp_path: Path) -> None:
    begun = time.monotonic()
    ended = run(UNCLOSED_SPOOL, "127.0.0.1:1", str(tmp_path / "spool"))
    assert (ended.stdout, ended.returncode) == ("ends\n", 0), ended.stderr
    assert time.monotonic() - begun < 15
    assert "Traceback" not in ended.stderr
    assert b"".join(file.read_bytes() for file in (tmp_path / "spool").glob("*.spool")).count(b"KtP1") == 4


UNCLOSED_AIO = """
import asyncio, keyturn, sys
async def handle(work):
    await asyncio.sleep(60)
async def main():
    client = keyturn.aio.connect(sys.argv[1])
    client.consume(sys.argv[2], handle)
    await client.submit(sys.argv[2], keyturn.NewItem(b"1"))
    while (await client.admin.list_queues()).queues[0].live_turns == 0:
        pass
    print("ends")
asyncio.run(main())
"""


def test_an_event_loop_that_ends_before_its_client(own_sidecar: list[Sidecar], queue: str) -> None:
    begun = time.monotonic()
    ended = run(UNCLOSED_AIO, own_sidecar[0].address, queue)
    assert (ended.stdout, ended.returncode) == ("ends\n", 0), ended.stderr
    assert "was not closed" in ended.stderr
    assert time.monotonic() - begun < 15


def test_a_client_of_asyncio_knows_its_loop(address: str) -> None:
    import asyncio  # noqa: PLC0415

    async def make() -> keyturn.aio.Client:
        client = keyturn.aio.connect(address)
        await client.enqueue("orders", "loop", wait=0)
        return client

    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(make())

    async def use() -> None:
        with pytest.raises(RuntimeError, match="belongs to the event loop"):
            client.enqueue("orders", "loop")
        with pytest.raises(RuntimeError, match="belongs to the event loop"):
            await client.close()

    asyncio.run(use())
    with pytest.raises(RuntimeError):
        client.enqueue("orders", "loop")
    loop.run_until_complete(client.close())
    loop.close()
