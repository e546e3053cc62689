"""TLS: a connection whose handshake does not end is bounded like one on which nothing is said."""

import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from client.errors import Unreachable
from client.transport import Transport
from controlplane.router import connection
from controlplane.router.connection import Waiting
from tests.patience import wait_until
from tests.unit.router.serving import Serving, serving
from tests.unit.router.test_connection import ASKS, answers, nobody_waits, until_its_end


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A key and a certificate that it signs itself."""
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key", folder / "certificate"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command = ["openssl", "req", "-x509", *curve, *names, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return key, certificate


@pytest.fixture
def tls(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    monkeypatch.setenv("HYDRA_TLS_KEY", str(pair[0]))
    monkeypatch.setenv("HYDRA_TLS_CERT", str(pair[1]))
    with serving(answers) as web:
        yield web


def spoken(there: socket.socket, pair: tuple[Path, Path]) -> ssl.SSLSocket:
    return ssl.create_default_context(cafile=pair[1]).wrap_socket(there, server_hostname="localhost")


def test_requests_come_and_are_answered(tls: Serving, pair: tuple[Path, Path]) -> None:
    with spoken(tls.reached(), pair) as there:
        for asked in (ASKS, b"POST / HTTP/1.1\r\nContent-Length: 300000\r\n\r\n" + b"a" * 300_000, ASKS):
            there.sendall(asked)
            read = b""
            while not read.endswith(b"\r\n\r\n1"):
                read += there.recv(100)
    wait_until(lambda: nobody_waits(tls), 10, "nothing is left of it")


def test_what_is_said_with_the_handshakes_end_is_heard(tls: Serving, pair: tuple[Path, Path]) -> None:
    """A client may send its request in the same packet as the last word of the handshake."""
    comes, goes = ssl.MemoryBIO(), ssl.MemoryBIO()
    said = ssl.create_default_context(cafile=pair[1]).wrap_bio(comes, goes, server_hostname="localhost")
    with tls.reached() as there:
        while True:
            try:
                said.do_handshake()
                break
            except ssl.SSLWantReadError:
                there.sendall(goes.read())
                comes.write(there.recv(65_536))
        said.write(ASKS)
        there.sendall(goes.read())
        read = b""
        while not read.endswith(b"\r\n\r\n1"):
            try:
                read += said.read(65_536)  # of one record: several may have come together
            except ssl.SSLWantReadError:
                comes.write(there.recv(65_536))
        assert read.startswith(b"HTTP/1.1 200")


def test_clients_believe_the_authority_that_they_are_told(
    tls: Serving, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked() -> int:
        there = Transport(f"https://localhost:{tls.port}", None, timeout_s=10, retry_s=0)
        with closing(there):
            return there.request("GET", "/").status_code

    with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
        asked()
    monkeypatch.setenv("SSL_CERT_FILE", str(pair[1]))
    assert asked() == 200


@pytest.mark.parametrize("words", [b"", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\n\r\n"])
def test_a_handshake_that_does_not_end_is_given_up(tls: Serving, monkeypatch: pytest.MonkeyPatch, words: bytes) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 0.1)
    with tls.reached() as there:
        there.sendall(words)
        assert not until_its_end(there).startswith(b"HTTP")
        wait_until(lambda: nobody_waits(tls), 10, "nothing is left of it")


def test_who_stops_in_the_midst_of_a_request_is_given_up(
    tls: Serving, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with spoken(tls.reached(), pair) as there:
        there.sendall(ASKS)
        read = b""
        while not read.endswith(b"\r\n\r\n1"):
            read += there.recv(100)
        monkeypatch.setattr(connection, "HEAD_S", 0.1)
        there.sendall(b"GET /")
        with suppress(OSError):  # closed without a word of TLS
            assert there.recv(1) == b""
        wait_until(lambda: nobody_waits(tls), 10, "nothing is left of it")


def test_of_an_address_so_many_shake_hands_and_the_oldest_goes(
    tls: Serving, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEADS_ADDRESS", 3)
    with ExitStack() as held:
        first = held.enter_context(tls.reached())
        for n in range(2):
            wait_until(lambda n=n: sum(map(len, Waiting.held.values())) == n + 1, 10, "it is there")  # type: ignore[misc]
            held.enter_context(tls.reached())
        wait_until(lambda: sum(map(len, Waiting.held.values())) == 3, 10, "all are there")
        last = held.enter_context(spoken(tls.reached(), pair))
        assert until_its_end(first) == b""
        last.sendall(ASKS)
        assert last.recv(100).startswith(b"HTTP/1.1 200")
        assert [sum(not each.idle for each in found) for found in Waiting.held.values()] == [2]
