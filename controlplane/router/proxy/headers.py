"""Which headers pass through the proxy, and what becomes of them. Pure.

Towards the application: nothing that proves who somebody is to us. From it:
nothing that reaches beyond its own pages, and a policy that puts them into an
origin of their own, apart from ours.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from controlplane.router.proxy.address import Address

Header = tuple[str, str]
HOP_BY_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip
# RFC 9110 7.6.1; what else may not go in, because it is ours or is said anew.
NOT_IN = HOP_BY_HOP | {"host", "authorization", "origin", "referer", "forwarded", "expect"}
OURS_IN = ("x-forwarded-", "x-hydra-", "x-real-ip", "x-csrftoken", "sec-websocket-")
# What a page may say about itself, but not about everything at our address.
NOT_OUT = HOP_BY_HOP | {
    "alt-svc", "clear-site-data", "expect-ct", "nel", "origin-agent-cluster", "public-key-pins", "report-to",
    "reporting-endpoints", "service-worker-allowed", "server", "strict-transport-security", "referrer-policy",
    "cross-origin-opener-policy", "cross-origin-resource-policy", "cross-origin-embedder-policy", "permissions-policy",
}  # fmt: skip
SANDBOX = "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads"
POLICY: list[Header] = [
    ("content-security-policy", SANDBOX),  # beside the page's own: both hold
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "cross-origin"),
]
# A sandboxed page is a stranger even to itself. Who gets here knows the ticket, and no cookie counts: all may read.
OPEN: list[Header] = [("access-control-allow-origin", "*"), ("access-control-expose-headers", "*")]
PREFLIGHT: list[Header] = [
    *OPEN, ("access-control-allow-methods", "*"), ("access-control-allow-headers", "*, authorization"),
    ("access-control-max-age", "600"), ("content-length", "0"),
]  # fmt: skip


class LeadsElsewhere(Exception):
    """The application redirects to another site; ``args[0]`` is where."""


def named_hops(headers: Iterable[Header]) -> set[str]:
    """Headers that ``Connection`` declares hop-by-hop."""
    return {word.strip().lower() for name, value in headers if name == "connection" for word in value.split(",")}


def inwards(
    headers: list[Header], own_cookies: set[str], *, address: Address, upstream: str, site: str, user: str
) -> list[Header]:
    """Headers for the application.

    upstream: its ``host:port``. site: scheme and host under which the browser sees us. The origin of a sandboxed page
    says nothing; applications compare it with their own address, and that it is one of theirs the ticket has shown.
    """
    dropped = NOT_IN | named_hops(headers)
    passed = [(n, v) for n, v in headers if n not in dropped and n != "cookie" and not _is_ours(n)]
    cookies = [c for n, v in headers if n == "cookie" for c in _foreign_cookies(v, own_cookies)]
    if cookies:
        passed.append(("cookie", "; ".join(cookies)))
    if any(name == "origin" for name, _ in headers):
        passed.append(("origin", f"http://{upstream}"))
    parts = urlsplit(site)
    return [
        *passed,
        ("x-forwarded-prefix", address.prefix),
        ("x-forwarded-host", parts.netloc),
        ("x-forwarded-proto", parts.scheme),
        ("x-hydra-user", user),
    ]


def _is_ours(name: str) -> bool:
    """Many servers take ``_`` for ``-``."""
    return name.replace("_", "-").startswith(OURS_IN)


def _foreign_cookies(value: str, own: set[str]) -> list[str]:
    pairs = [pair.strip() for pair in value.split(";")]
    return [pair for pair in pairs if pair and _cookie_name(pair) not in own]


def _cookie_name(pair: str) -> str:
    return pair.partition("=")[0].strip().lower()


def outwards(headers: list[Header], own_cookies: set[str], *, address: Address, upstream: str) -> list[Header]:
    """Headers for the browser. Raises ``LeadsElsewhere``. ``upstream``: the application's own ``host:port``."""
    dropped = NOT_OUT | named_hops(headers)
    passed: list[Header] = []
    for name, value in headers:
        if name in dropped or name.startswith("access-control-"):
            continue
        if name == "set-cookie":
            passed += [(name, cookie) for cookie in [_kept_cookie(value, own_cookies, address)] if cookie]
        elif name in ("location", "content-location"):
            passed.append((name, _moved(value, address, upstream)))
        else:
            passed.append((name, value))
    if not any(name == "cache-control" for name, _ in passed):
        passed.append(("cache-control", "private"))
    return [*passed, *POLICY, *(OPEN if address.ticket else [])]


def _kept_cookie(value: str, own: set[str], address: Address) -> str:
    """The application's cookie, kept to its own pages; "" for one that takes a name of ours, or claims the site."""
    pair, *attributes = value.split(";")
    name = _cookie_name(pair)
    if not name or name in own or name.startswith(("__host-", "__secure-")):
        return ""
    kept = [a.strip() for a in attributes if a.strip().partition("=")[0].strip().lower() not in ("path", "domain")]
    return "; ".join([pair.strip(), *kept, f"Path={address.home}/"])


def _moved(value: str, address: Address, upstream: str) -> str:
    """A redirect within the application, seen from outside. A relative one needs no change."""
    target = "".join(c for c in value.strip().replace("\\", "/") if c.isprintable())  # as browsers read it
    try:
        parts = urlsplit(target)
    except ValueError:
        raise LeadsElsewhere(value) from None
    ours = parts.netloc == upstream and parts.scheme in ("", "http")
    if not ours and (parts.scheme or parts.netloc or target.startswith("//")):
        raise LeadsElsewhere(value)
    if not ours and not target.startswith("/"):
        return target
    rest = parts._replace(scheme="", netloc="", path=parts.path.lstrip("/")).geturl()
    return f"{address.prefix}/{rest}"
