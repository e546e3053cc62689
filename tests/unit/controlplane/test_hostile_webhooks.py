"""Webhooks that want to harm: whatever they answer, a try ends in time and in words, and goes where it was looked."""

import asyncio
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, repeat
from typing import Any

import pytest

from controlplane.notifications import webhook
from controlplane.notifications.webhook import Untold
from controlplane.statestore.actions.receivers import Webhook
from tests.patience import passes, stretched, until
from tests.receiving import hooks

KEY = "whsec_a2V5"
OK = b"HTTP/1.1 200 OK\r\n"
HINT = b"HTTP/1.1 103 Early Hints\r\n\r\n"


@pytest.fixture(autouse=True)
def allowed(settings: Any) -> None:
    settings.HYDRA = settings.HYDRA | {"webhook_hosts": ["127.0.0.1"]}


@contextmanager
def saying(pieces: Any) -> Iterator[str]:
    """A server that answers a request with these, as long as anybody takes them, and then says nothing more."""
    over = threading.Event()

    def answer(connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(65_536)
                for piece in pieces:
                    connection.sendall(piece)
                    if over.is_set():
                        return
                over.wait(stretched(60))
            except OSError:
                pass  # it has heard enough

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        finally:
            over.set()
            server.shutdown(socket.SHUT_RDWR)


async def told(url: str) -> str:
    """Why it is not told; "" when it is."""
    async with webhook.client() as http:
        try:
            await webhook.post(http, Webhook(url, KEY), 1, b"{}")
        except Untold as why:
            return str(why)
    return ""


@pytest.mark.parametrize(
    ("pieces", "why"),
    [
        ([b""], "no answer within"),
        ([b"no HTTP at all\r\n\r\n"], "the exchange failed"),
        ([b"\0" * 100_000], "the exchange failed"),
        ([b"HTTP/1.1 99999 x\r\n\r\n"], "the exchange failed"),
        ([b"HTTP/1.1 301 x\r\nLocation: http://127.0.0.1:1/\r\n\r\n"], "redirects are not followed"),
        ([OK + b"Location: http://127.0.0.1:1/\r\nContent-Length: 99999999999\r\n\r\n", *[bytes(65_536)] * 100], ""),
        ([OK + b"Content-Encoding: gzip\r\n\r\nno gzip"], ""),
        ([OK, *repeat(b"X: " + b"x" * 60_000 + b"\r\n", 1000)], webhook.LONG),
        (chain([OK], repeat(b"X: y\r\n" * 1000)), webhook.LONG),
        (repeat(HINT * 1000), webhook.LONG),
    ],
)
def test_whatever_a_webhook_answers_ends_in_time_and_in_words(
    pieces: Iterable[bytes], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "no answer within":
        monkeypatch.setattr(webhook, "TRY_S", 0.5)
    with saying(pieces) as url:
        found = asyncio.run(told(url))
    assert found.startswith(why) if why in ("", "no answer within") else why in found, found
    assert (found == "") == (why == "")


def test_a_name_that_leads_elsewhere_a_moment_later_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, real = list[str](), socket.getaddrinfo

    def lookup(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if host != "rebinds.example":
            return real(host, port, *args, **kwargs)
        asked.append(host)
        return real("127.0.0.1" if len(asked) == 1 else "127.0.0.2", port, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with hooks() as web:
        assert asyncio.run(told(f"http://rebinds.example:{web.port}/hook")) == ""
        ((_, head, _),) = web.told
    assert asked == ["rebinds.example"] and head["host"] == f"rebinds.example:{web.port}"


def test_a_name_that_is_looked_for_longer_than_a_try_has_its_thread_and_the_try_until_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or its receiver would be tried again meanwhile, and take one of few threads after another."""
    begun, end = threading.Event(), threading.Event()

    def lookup(*_: Any, **__: Any) -> Any:
        begun.set()
        end.wait(stretched(60))
        raise OSError("no such name")

    async def play() -> None:
        trying = asyncio.create_task(told("http://slow.example/"))
        await until(begun.is_set, 10, "it is looked for")
        await passes(0.2)
        assert not trying.done()
        end.set()
        assert (await trying).startswith("no answer within")

    monkeypatch.setattr(webhook, "TRY_S", 0.05)
    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    asyncio.run(play())


def test_who_hints_without_end_keeps_no_other_from_hearing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hints are read by the process that tells everybody, and are read as fast as they come.

    A slow machine has time enough: that they end is for how much they say, not for how long it takes.
    """
    monkeypatch.setattr(webhook, "TRY_S", 60)

    async def play(floods: list[str], honest: str) -> tuple[list[str], str]:
        flooding = asyncio.gather(*map(told, floods))
        await passes(0.2)
        heard = await told(honest)
        return await flooding, heard

    with ExitStack() as stack:
        floods = [stack.enter_context(saying(repeat(HINT * 1000))) for _ in range(10)]
        web = stack.enter_context(hooks())
        found = asyncio.run(play(floods, web.url()))
    assert found == ([webhook.LONG] * 10, "")
