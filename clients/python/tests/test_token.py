"""Who asks: tokens of the client, against a sidecar that wants to know."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest

import keyturn
from keyturn import NewItem, TokenFile
from tests.sidecar import Sidecar

KINDS: list[Literal["session", "unary"]] = ["session", "unary"]
# Nothing but a refusal ends a call, however slow the machine is.
FAR = 300.0


class Guarded:
    """A sidecar that lets ada in, who may do nothing in other queues than q."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.accept("first-token")
        rights = "{ ada: [{ queues: [q], groups: [g], may: [produce, consume, view] }] }"
        config = f"auth: {{ tokens: {folder / 'tokens.yaml'}, rights: {rights} }}\n"
        self.sidecar = Sidecar(config=config, folder=folder)
        self.address = self.sidecar.address

    def accept(self, token: str) -> None:
        """Make this the token of ada from now on. A half of it is never read."""
        self.write("tokens.yaml", f"ada: {{ sha256: {hashlib.sha256(token.encode()).hexdigest()} }}\n")

    def write(self, name: str, text: str) -> Path:
        new = self._folder / "new"
        new.write_text(text)
        return new.replace(self._folder / name)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    one = Guarded(tmp_path)
    yield one
    one.sidecar.kill()


def raises() -> str:
    raise RuntimeError("the vault is closed")


async def raises_later() -> str:
    raise RuntimeError("the vault is closed")


async def gives_later() -> str:
    await asyncio.sleep(0)
    return "first-token"


@pytest.mark.parametrize("transport", KINDS)
def test_a_token_lets_calls_of_workers_and_of_people_in(guarded: Guarded, transport: Literal["session", "unary"]) -> None:
    files = [TokenFile(guarded.write("token", "first-token\n")), TokenFile(guarded.write("windows", " first-token\r\n"))]
    sources: list[Any] = ["first-token", *files, lambda: "first-token"]
    for token in sources:
        with keyturn.connect(guarded.address, transport=transport, token=token) as client:
            assert client.submit("q", NewItem()).decision == "accept"
            assert client.admin.explain_key("q", "k").state == "INIT"


@pytest.mark.parametrize("transport", KINDS)
async def test_so_does_that_of_a_coroutine(guarded: Guarded, transport: Literal["session", "unary"]) -> None:
    async with keyturn.aio.connect(guarded.address, transport=transport, token=gives_later) as client:
        assert (await client.submit("q", NewItem())).decision == "accept"
        assert (await client.admin.explain_key("q", "k")).state == "INIT"


WRONG: list[tuple[Any, str]] = [
    (None, "nothing says who is asking.*TokenFile"),
    ("another-token", "not known here.*TokenFile"),
    (raises, "no token: the vault is closed"),
    (lambda: "", "no token: the token is empty"),
    (lambda: 7, "no token: the token is a int"),
]


@pytest.mark.parametrize("transport", KINDS)
@pytest.mark.parametrize(("token", "expected"), WRONG)
def test_without_a_token_that_holds_calls_fail_at_once(
    guarded: Guarded, token: Any, expected: str, transport: Literal["session", "unary"]
) -> None:
    with keyturn.connect(guarded.address, transport=transport, token=token) as client:
        with pytest.raises(keyturn.UnauthenticatedError, match=expected) as refused:
            client.enqueue("q", "k", wait=FAR)
        assert refused.value.code == "UNAUTHENTICATED"
        with pytest.raises(keyturn.UnauthenticatedError, match=expected):
            client.admin.explain_key("q", "k")


@pytest.mark.parametrize("transport", KINDS)
@pytest.mark.parametrize(("token", "expected"), [*WRONG, (raises_later, "no token: the vault is closed")])
async def test_with_asyncio_too(guarded: Guarded, token: Any, expected: str, transport: Literal["session", "unary"]) -> None:
    async with keyturn.aio.connect(guarded.address, transport=transport, token=token) as client:
        with pytest.raises(keyturn.UnauthenticatedError, match=expected):
            await client.enqueue("q", "k", wait=FAR)


@pytest.mark.parametrize("transport", KINDS)
async def test_a_coroutine_that_never_gives_a_token_neither_outlives_the_time_of_a_call_nor_the_client(
    guarded: Guarded, transport: Literal["session", "unary"]
) -> None:
    async def never() -> str:
        await asyncio.Event().wait()
        return ""

    client = keyturn.aio.connect(guarded.address, transport=transport, token=never)
    with pytest.raises(keyturn.KeyturnError) as late:
        await client.enqueue("q", "k", wait=FAR, timeout=0.2)
    assert late.value.code == "DEADLINE_EXCEEDED"
    open_call = asyncio.ensure_future(client.enqueue("q", "k", wait=FAR))
    await client.close()
    with pytest.raises(keyturn.KeyturnError, match="closed"):
        await open_call
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("transport", KINDS)
def test_what_the_rights_do_not_allow_is_told_with_verb_and_queue(
    guarded: Guarded, transport: Literal["session", "unary"]
) -> None:
    with keyturn.connect(guarded.address, transport=transport, token="first-token") as client:
        with pytest.raises(keyturn.PermissionDeniedError, match=r"auth\.rights") as refused:
            client.enqueue("foreign", "k", wait=FAR)
        assert (refused.value.code, refused.value.reason) == ("PERMISSION_DENIED", "NOT_ALLOWED")
        assert dict(refused.value.details.metadata) == {"verb": "consume", "what": "queue foreign"}
        # The rest goes on.
        assert client.submit("q", NewItem()).decision == "accept"


def ends_with_its_token(guarded: Guarded, do: Callable[[], None]) -> None:
    """Both streams and calls that wait end with their token: when one has, so has the other."""
    old = keyturn.connect(guarded.address, transport="unary", token="first-token")
    with old, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(old.enqueue, "q", "k", wait=FAR)
        do()
        with pytest.raises(keyturn.UnauthenticatedError):
            waiting.result()


def test_a_session_whose_token_is_replaced_in_its_file_comes_back_with_its_turns(guarded: Guarded) -> None:
    token = TokenFile(guarded.write("token", "first-token"))

    def replace() -> None:
        guarded.write("token", "second-token")
        guarded.accept("second-token")

    with (
        keyturn.connect(guarded.address, token=token, session_ttl=3_600) as client,
        client.turn("q", "k") as turn,
    ):
        ends_with_its_token(guarded, replace)
        assert client.submit("q", NewItem()).decision == "accept"
        turn.check()
    # The end of the block gave it back.


async def test_so_it_does_with_asyncio_and_a_coroutine(guarded: Guarded) -> None:
    token = "first-token"

    async def current() -> str:
        return token

    async with keyturn.aio.connect(guarded.address, token=current, session_ttl=3_600) as client:
        answer = await client.enqueue("q", "k")
        assert answer.turn is not None
        token = "second-token"
        await asyncio.to_thread(ends_with_its_token, guarded, lambda: guarded.accept("second-token"))
        await client.dequeue("q", "k", token=answer.turn.token)


def test_leaders_stand_with_the_token_too(guarded: Guarded) -> None:
    leads = threading.Event()

    class Career:
        def execute(self, term: keyturn.Term) -> None:
            leads.set()
            term.stopping.wait()

    with keyturn.connect(guarded.address, token="first-token") as client:
        leadership = client.lead("g", Career())
        assert leads.wait(60)
        leadership.stop()


def test_while_the_file_cannot_be_read_the_last_good_token_counts(guarded: Guarded) -> None:
    path = guarded.write("token", "first-token")
    for text in ("", "two words", "x" * 10_000, None):
        guarded.write("token", "first-token")
        with keyturn.connect(guarded.address, token=TokenFile(path)) as client:
            if text is None:
                path.unlink()
            else:
                guarded.write("token", text)
            # Its stream looks at the file when it begins, which is now.
            assert client.submit("q", NewItem()).decision == "accept"


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("", "token is empty"),
        ("my secret", "token is empty, or has a space"),
        ("a\nb", "has a space"),
        ("é", "beyond ASCII"),
        ("x" * 8_193, "token has more than 8192 characters"),
        (7, "token is 7; allowed is a token, a TokenFile"),
        (TokenFile("/no/such/token"), "'/no/such/token', which cannot be read"),
        (TokenFile("/"), "which cannot be read"),
    ],
)
def test_a_wrong_option_is_refused_by_connect(token: Any, expected: str) -> None:
    with pytest.raises(keyturn.WrongArgumentError, match=expected) as refused:
        keyturn.connect("127.0.0.1:1", token=token)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "my secret", "my\nsecret\n", "\ufeffmy-secret", "x" * 8_193, "x" * 1_048_576])
def test_a_file_without_a_token_is_refused_by_connect(text: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(text, encoding="utf-8")
    with pytest.raises(keyturn.WrongArgumentError, match="the token in ") as refused:
        keyturn.connect("127.0.0.1:1", token=TokenFile(tmp_path / "token"))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("connect", [keyturn.connect, keyturn.aio.connect])
@pytest.mark.parametrize("address", ["192.0.2.1:1", "keyturn.example:1", "[2001:db8::1]:1", "127.0.0.1.example:1"])
async def test_no_token_is_sent_to_another_machine_in_clear_text(connect: Any, address: str) -> None:
    with pytest.raises(keyturn.WrongArgumentError, match="in clear text; use tls, or say insecure=True"):
        connect(address, token="secret")


@pytest.mark.parametrize(
    ("address", "settings"),
    [
        ("192.0.2.1:1", {"token": "secret", "insecure": True}),
        ("192.0.2.1:1", {"token": "secret", "tls": keyturn.Tls()}),
        ("192.0.2.1:1", {}),
        ("127.1.2.3:1", {"token": "secret"}),
        ("localhost:1", {"token": "secret"}),
        ("[::1]:1", {"token": "secret"}),
        ("unix:/run/keyturn.sock", {"token": "secret"}),
    ],
)
async def test_a_token_is_sent_where_nobody_reads_it(address: str, settings: dict[str, Any]) -> None:
    await keyturn.aio.connect(address, **settings).close()
