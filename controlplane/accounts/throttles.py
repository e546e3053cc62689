"""Rates. State is per process (Django's local memory cache), so a missing Redis changes nothing."""

from typing import Any

from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle


class ByAccount(SimpleRateThrottle):
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


class Login(SimpleRateThrottle):
    """Attempts to log in, from one address."""

    scope = "login"

    def get_cache_key(self, request: Request, view: Any) -> str:
        return f"throttle:login:{self.get_ident(request)}"


def _rate(scope: str) -> tuple[int, int]:
    """(requests, seconds) of a configured rate."""
    throttle = SimpleRateThrottle.__new__(SimpleRateThrottle)
    number, duration = throttle.parse_rate(SimpleRateThrottle.THROTTLE_RATES[scope])
    return int(number or 0), int(duration or 1)


class Join(SimpleRateThrottle):
    """Registrations of nodes, from one address. Tokens are long, so this only bounds the work."""

    scope = "join"

    def get_cache_key(self, request: Request, view: Any) -> str:
        return f"throttle:join:{self.get_ident(request)}"
