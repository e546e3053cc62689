"""Rates. State is per process (local memory), so a missing Redis changes nothing.

An address is the connection's own. What a request says of where it comes from
counts only where the server takes it from a proxy it trusts, and then has put
it there already.
"""

import ipaddress
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from django.core.cache import caches
from django.utils.connection import ConnectionProxy
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

NETWORK_BITS = 64  # of an IPv6 address: whoever has one has the whole network


def address_of(meta: Mapping[str, Any]) -> str:
    """Whom a rate counts, by the connection's address."""
    text = str(meta.get("REMOTE_ADDR") or "")
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text[:64]  # a Unix socket has none
    if address.version == 6:
        return str(ipaddress.ip_network((address, NETWORK_BITS), strict=False).network_address)
    return str(address)


class Rate(SimpleRateThrottle):
    """A rate whose state shares its room with other rates only."""

    cache = ConnectionProxy(caches, "throttles")

    def get_ident(self, request: Request) -> str:
        return address_of(request.META)


class ByAddress(Rate):
    """A rate of one address, whoever is behind it. Subclasses name the rate by ``scope``."""

    def get_cache_key(self, request: Request, view: Any) -> str:
        return f"throttle:{self.scope}:{self.get_ident(request)}"


class ByAccount(Rate):
    """Requests of one account; of one address while nobody is logged in (then the lower rate)."""

    scope = "user"

    def __init__(self) -> None:
        super().__init__()
        self.anonymous = _rate("anonymous")

    def get_cache_key(self, request: Request, view: Any) -> str:
        if request.user and request.user.is_authenticated:
            return f"throttle:user:{request.user.pk}"
        self.num_requests, self.duration = self.anonymous
        return f"throttle:address:{self.get_ident(request)}"


class Login(ByAddress):
    """Attempts to log in."""

    scope = "login"


class Join(ByAddress):
    """Registrations of nodes. Tokens are long, so this only bounds the work."""

    scope = "join"


class MistakenToken(ByAddress):
    """Tokens that nobody has: each costs a look into the StateStore, before anything is known of who asks."""

    scope = "token"

    def count(self, request: Request) -> None:
        """It was one."""
        self.allow_request(request, None)

    def full(self, request: Request) -> bool:
        """Whether this address has sent as many as it may."""
        since = self.timer() - float(self.duration or 0)
        recent = [at for at in self.cache.get(self.get_cache_key(request, None), []) if at > since]
        return len(recent) >= int(self.num_requests or 0)


class Proxied(ByAddress):
    """Looks of the tracking proxy into the StateStore, which precede any knowledge of who asks."""

    scope = "proxy"

    def allows(self, address: str) -> bool:
        """Whether this address may cause one more."""
        return bool(self.allow_request(SimpleNamespace(META={"REMOTE_ADDR": address}), None))


def _rate(scope: str) -> tuple[int, int]:
    """(requests, seconds) of a configured rate."""
    throttle = SimpleRateThrottle.__new__(SimpleRateThrottle)
    number, duration = throttle.parse_rate(SimpleRateThrottle.THROTTLE_RATES[scope])
    return int(number or 0), int(duration or 1)
