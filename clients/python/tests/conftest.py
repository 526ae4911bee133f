from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

import keyturn
from tests.sidecar import Sidecar
from tests.spans import Listening

CONFIG = """
queues:
  coalesced: { waiting_per_key: 1, wait: 50ms }
  once: { idempotency_ttl: 1m }
  small: { max_waiting: 2 }
  fast: { retry: { initial: 10ms, max: 20ms, max_attempts: 3 } }
  short: { lease: 500ms }
  patient: { wait: 60s }
  single: { retry: { max_attempts: 1 } }
"""


@pytest.fixture(scope="session")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    one = Sidecar(config=CONFIG, folder=tmp_path_factory.mktemp("sidecar"))
    yield one
    one.kill()


@pytest.fixture
def address(sidecar: Sidecar) -> str:
    return sidecar.address


@pytest.fixture
def key() -> str:
    return str(uuid4())


@pytest.fixture
def queue() -> str:
    return f"q-{uuid4()}"


@pytest_asyncio.fixture
async def aclient(address: str) -> AsyncIterator[keyturn.aio.Client]:
    async with keyturn.aio.connect(address) as client:
        yield client


@pytest.fixture
def client(address: str) -> Iterator[keyturn.Client]:
    with keyturn.connect(address) as client:
        yield client


@pytest.fixture
def own_sidecar() -> Iterator[list[Sidecar]]:
    """For those who kill it: what is in the list is killed at the end."""
    ones = [Sidecar()]
    yield ones
    for one in ones:
        one.kill()


@pytest.fixture
def repository() -> Path:
    return Path(__file__).resolve().parents[3]


@pytest.fixture
def otel() -> Listening:
    return Listening()


@pytest.fixture
def traced(address: str, otel: Listening) -> Iterator[keyturn.Client]:
    with keyturn.connect(address, tracing=otel.tracing()) as client:
        yield client
