"""Which addresses the control plane connects to because a tenant says so: public ones, and what operators allow.

Whoever names an address could otherwise have the control plane speak to what only it reaches: stores, other services,
the metadata of a cloud. A name is resolved once, and what is connected to is what was looked at.
"""

import asyncio
import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

from controlplane import hosts
from controlplane.hosts import Ip

REMEDY = "give a public address, or ask an operator to allow the host (HYDRA_WEBHOOK_HOSTS)"
_PORTS = {"http": 80, "https": 443}
# Of IPv6 nothing else is given out; what lies elsewhere stands for others, or is old.
_GIVEN_OUT = ipaddress.ip_network("2000::/3")
# Looks public, and is a cloud's own service to each of its machines.
_OF_CLOUDS = {ipaddress.ip_address("168.63.129.16")}


class Inside(Exception):
    """The host has no address that may be connected to."""


@dataclass(frozen=True, slots=True)
class Place:
    """An address that was looked at. ``host``: what it was called, for TLS and the request's head."""

    host: str
    port: int
    address: str


def public(address: Ip) -> bool:
    """Whether anybody on the internet might have it. Addresses that stand for others, of IPv4, are none of these."""
    if isinstance(address, ipaddress.IPv6Address) and (
        address not in _GIVEN_OUT or address.sixtofour or address.teredo
    ):
        return False
    return address.is_global and not address.is_multicast and address not in _OF_CLOUDS


def own(address: Ip) -> bool:
    """Whether this machine has it: what listens on all of its addresses is reached by a public one as well."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as way:
            way.connect((str(address), 9))  # nothing is sent; to itself a machine would speak from that very address
            return hosts.address(way.getsockname()[0]) == address
    except OSError:
        return False


def refused(url: str) -> str:
    """Why an address is never connected to, as far as that can be said without asking for its name; "" otherwise."""
    host = urlsplit(url).hostname or ""
    address = hosts.address(host)
    if address and not _allowed(host, address):
        return f"leads to {address}, which is not a public address of another machine"
    return ""


def _allowed(host: str, address: Ip) -> bool:
    listed = settings.HYDRA["webhook_hosts"]
    outside = public(address) and not own(address)
    return outside or hosts.listed(host, listed) or hosts.listed(str(address), listed)


async def resolve(url: str) -> Place:
    """Where to connect for this address. Raises ``Inside``, and ``OSError`` for a name that there is not."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # Of both kinds IPv4 first: a machine without IPv6 may still be told addresses of it.
    for *_, (name, *_) in sorted(found, key=lambda each: each[0] != socket.AF_INET):
        address = hosts.address(str(name).partition("%")[0])
        if address and _allowed(host, address):
            return Place(host, port, str(address))
    raise Inside(f"{host} has no public address")
