"""Where web itself connects to for a node: never just anywhere the node says."""

import ipaddress
from fnmatch import fnmatchcase

from django.conf import settings

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


def reached_at(host: str, asked_from: str) -> str:
    """The address for a node's endpoints: ``host``, as it calls itself, where operators allow that.

    Else the one that its own requests come from; "" where a request has none.
    """
    address = _address(host)
    for allowed in settings.HYDRA["node_hosts"]:
        if _within(address, allowed) if address else fnmatchcase(host.lower(), allowed.lower()):
            return host
    own = _address(asked_from)
    return str(own) if own else ""


def _address(text: str) -> Ip | None:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def _within(address: Ip, allowed: str) -> bool:
    try:
        return address in ipaddress.ip_network(allowed, strict=False)
    except ValueError:  # a name, which no address is
        return False
