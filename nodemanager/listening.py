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
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from wire.streams import Refused

CONNECT_S = 5.0
RECENT_S = 0.25  # a look is good for so long,
LOOKING_PART = 20  # or for so many times what it took: any user may open so many connections that it takes long
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
                lines = [line for line in file if f" {_LISTENS} " in line]  # of what may be many more connections
        except OSError:
            continue  # no such protocol here
        for line in lines:
            _, local, _, state, *rest = line.split()
            address, _, number = local.partition(":")
            if state == _LISTENS:
                yield Listener(int(number, 16), _address(address), int(rest[3]), int(rest[5]))


def listeners(port: int) -> list[Listener]:
    """Sockets that listen on a port."""
    return [each for each in _all() if each.port == port]


def takers(found: Iterable[Listener], address: str) -> list[Listener]:
    """Who of those that listen on a port gets the connections to this address.

    The kernel looks for the address itself, then for who takes all of its family, then for who takes those of IPv6
    with IPv4's. Others may listen on the same port of another address, without a say in this one.
    """
    wanted = (address, "0.0.0.0") if ":" not in address else (address,)
    for each in (*wanted, "::"):
        if taken := [one for one in found if one.address == each]:
            return taken
    return []


class Listening:
    """Who listens where on this machine, as it was a moment ago."""

    def __init__(self) -> None:
        self._good_until, self._found = float("-inf"), dict[int, list[Listener]]()

    def users(self, port: int, address: str) -> set[int]:
        """Numbers of the users whose processes get connections there."""
        began = time.monotonic()
        if began > self._good_until:
            self._found = {}
            for each in _all():
                self._found.setdefault(each.port, []).append(each)
            now = time.monotonic()
            self._good_until = now + max(RECENT_S, LOOKING_PART * (now - began))
        return {each.uid for each in takers(self._found.get(port, ()), address)}


def _address(text: str) -> str:
    """From the kernel's hexadecimal words, each in the machine's own order; IPv4's within IPv6 as IPv4's."""
    words = [int(text[at : at + 8], 16) for at in range(0, len(text), 8)]
    found = ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))
    return str(getattr(found, "ipv4_mapped", None) or found)


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
        found = listeners(port) if port in self.ports else []
        own = sockets_of(self._now()) if found else set()
        mine = [each.address for each in found if each.inode in own]
        if not mine:
            raise Refused(f"nothing of the container listens on port {port}")
        first = min(mine, key=lambda each: (each not in _LOOPBACK, each))
        address = _LOOPBACK.get(first, first)
        if any(each.inode not in own for each in takers(found, address)):
            raise Refused(f"not only the container listens on port {port} of its node")
        return socket.create_connection((address, port), CONNECT_S)

    def _now(self) -> set[int]:
        with self._lock:
            if time.monotonic() - self._looked_at > RECENT_S:
                self._pids, self._looked_at = self._members(), time.monotonic()
            return self._pids
