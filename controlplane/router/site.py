"""Our address as a browser sees it, by what its request says."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host


def site_of(scope: Mapping[str, Any], host: str) -> str | None:
    """Scheme and host. ``host``: the request's header of that name; None when it is not ours."""
    domain, _ = split_domain_port(host)
    allowed = settings.ALLOWED_HOSTS or (["localhost", "127.0.0.1", "[::1]"] if settings.DEBUG else [])
    if not domain or not validate_host(domain, allowed):
        return None
    return f"{'https' if scope.get('scheme') in ('https', 'wss') else 'http'}://{host}"


def is_ours(scope: Mapping[str, Any], host: str, origin: str) -> bool:
    """Whether a request to ``host`` comes from a page of ours, as browsers say with ``Origin``."""
    return bool(origin) and (origin == site_of(scope, host) or origin in settings.CSRF_TRUSTED_ORIGINS)
