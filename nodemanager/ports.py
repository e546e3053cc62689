"""Free ports of this machine for containers that ask for some.

A port is given when no container here has it, no other node manager on this
machine claims it, and nothing is bound to it. A claim is a socket in Linux's
abstract name space: one owner per network namespace, gone with its process.
The task binds the port itself, later; the claim keeps node managers apart until then.
"""

import random
import socket
from collections.abc import Collection

EVERYWHERE = ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::"))


class NoPort(Exception):
    """No port of the range is free."""


class Ports:
    """``first`` .. ``last``, gone round from a random start, so that a port rests before it is given again."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last
        self.next = random.randint(first, last)
        self.claims: dict[int, socket.socket] = {}

    def find(self, count: int, taken: Collection[int]) -> list[int]:
        """``count`` free ports, claimed. ``taken``: those of the containers here. Raises ``NoPort``."""
        found: list[int] = []
        for _ in range(self.last - self.first + 1):
            if len(found) == count:
                break
            port, self.next = self.next, self.next + 1 if self.next < self.last else self.first
            if port not in taken and port not in self.claims and self.claim(port):
                if free(port):
                    found.append(port)
                else:
                    self.release(port)
        if len(found) < count:
            for port in found:
                self.release(port)
            raise NoPort(f"{count} free ports of {self.first}-{self.last} are not to be had")
        return found

    def claim(self, port: int) -> bool:
        """Keep other node managers off a port; False when one of them has it."""
        if port in self.claims:
            return True
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0hydra-port-{port}")
        except OSError:
            claim.close()
            return False
        self.claims[port] = claim
        return True

    def release(self, port: int) -> None:
        """Give up the claim; the port comes round again after all others."""
        if claim := self.claims.pop(port, None):
            claim.close()


def free(port: int) -> bool:
    """Whether a server could bind the port on every address of this machine."""
    return all(_bindable(family, address, port) for family, address in EVERYWHERE if _bindable(family, address, 0))


def _bindable(family: socket.AddressFamily, address: str, port: int) -> bool:
    """With port 0: whether the machine has this family at all."""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind((address, port))
    except OSError:
        return False
    return True
