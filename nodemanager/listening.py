"""Connections to what a container's own processes listen on, and to nothing else of this machine.

Containers share the machine's network, so that a port alone says nothing of whose it is: the sockets that listen on
it, as the kernel lists them, must all be open in processes of the container.
"""

import ipaddress
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from wire.streams import Refused

CONNECT_S = 5.0
RECENT_S = 0.25  # a look at which processes a container has is good for so long
_LISTENS = "0A"
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # where to connect to what listens on all addresses


class Listener(NamedTuple):
    """A socket that listens. uid: of who opened it."""

    port: int
    address: str
    uid: int
    inode: int


def _all() -> Iterator[Listener]:
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/net/{name}") as file:
                lines = file.readlines()[1:]
        except OSError:
            continue  # no such protocol here
        for line in lines:
            _, local, _, state, *rest = line.split()
            address, _, number = local.partition(":")
            if state == _LISTENS:
                yield Listener(int(number, 16), _address(address), int(rest[3]), int(rest[5]))


def listeners(port: int) -> dict[int, str]:
    """Sockets that listen on a port: their inode -> the address."""
    return {each.inode: each.address for each in _all() if each.port == port}


class Listening:
    """Who listens where on this machine, as it was a moment ago."""

    def __init__(self) -> None:
        self._looked_at, self._users = float("-inf"), dict[int, set[int]]()

    def users(self, port: int) -> set[int]:
        """Numbers of the users whose processes listen there."""
        if time.monotonic() - self._looked_at > RECENT_S:
            self._looked_at, self._users = time.monotonic(), {}
            for each in _all():
                self._users.setdefault(each.port, set()).add(each.uid)
        return self._users.get(port, set())


def _address(text: str) -> str:
    """From the kernel's hexadecimal words, each in the machine's own order."""
    words = [int(text[at : at + 8], 16) for at in range(0, len(text), 8)]
    return str(ipaddress.ip_address(struct.pack(f"={len(words)}I", *words)))


def sockets_of(pids: set[int]) -> set[int]:
    """Inodes of the sockets that these processes have open."""
    found = set()
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue  # it has ended
        for name in names:
            try:
                target = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(int(target[8:-1]))
    return found


class Reachable:
    """Ports of a container that somebody may reach. ``members``: its processes as they are now; raises OSError."""

    def __init__(self, ports: list[int], members: Callable[[], set[int]]) -> None:
        self.ports, self._members = ports, members
        self._lock = threading.Lock()
        self._looked_at, self._pids = float("-inf"), set[int]()

    def connect(self, port: int) -> socket.socket:
        """A connection to it. Raises ``Refused`` and OSError; what others listen on is as if nobody did."""
        found = listeners(port) if port in self.ports else {}
        own = found.keys() & sockets_of(self._now()) if found else set()
        if not own:
            raise Refused(f"nothing of the container listens on port {port}")
        if own != found.keys():
            raise Refused(f"not only the container listens on port {port} of its node")
        address = min(found.values(), key=lambda each: (each not in _LOOPBACK, each))
        return socket.create_connection((_LOOPBACK.get(address, address), port), CONNECT_S)

    def _now(self) -> set[int]:
        with self._lock:
            if time.monotonic() - self._looked_at > RECENT_S:
                self._pids, self._looked_at = self._members(), time.monotonic()
            return self._pids
