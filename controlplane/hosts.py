"""Hosts as operators list them in a setting: names (with *), addresses and networks."""

import ipaddress
from collections.abc import Iterable
from fnmatch import fnmatchcase

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


def address(text: str) -> Ip | None:
    """The IP address that the text is; of one of IPv4 in IPv6's clothes, itself."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def listed(host: str, allowed: Iterable[str]) -> bool:
    """Whether a host's name, or its address, is among those allowed."""
    own = address(host)
    return any(_within(own, each) if own else fnmatchcase(host.lower(), each.lower()) for each in allowed)


def _within(own: Ip, allowed: str) -> bool:
    try:
        return own in ipaddress.ip_network(allowed, strict=False)
    except ValueError:  # a name, which no address is
        return False
