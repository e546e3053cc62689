"""What passes through the tracking proxy, and what does not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.router.proxy import headers
from controlplane.router.proxy.address import Address, parse

HERE = Address(12, "web.0.http", "~t:1:s", "/x")
OWN = {"sessionid", "csrftoken"}


def inwards(*found: tuple[str, str]) -> list[tuple[str, str]]:
    return headers.inwards(
        list(found), OWN, address=HERE, upstream="n1:20000", site="https://hydra.example", user="ann"
    )


def outwards(*found: tuple[str, str]) -> list[tuple[str, str]]:
    return headers.outwards(list(found), OWN, address=HERE, upstream="n1:20000")


def test_nothing_that_proves_who_somebody_is_goes_in() -> None:
    passed = inwards(
        ("cookie", 'sessionid=s3cret; theirs=1; CSRFtoken=x;SESSIONID=y; sessionid="quoted"'),
        ("authorization", "Token abc"), ("x-csrftoken", "x"), ("x-hydra-user", "root"),
        ("x_hydra_user", "root"), ("x-forwarded-for", "1.1.1.1"),
        ("connection", "close, X-Drop"), ("x-drop", "1"), ("te", "trailers"), ("upgrade", "h2c"), ("host", "evil"),
        ("origin", "null"), ("referer", "https://hydra.example/jobs/1"), ("accept", "text/html"),
        ("proxy-authorization", "b"),
    )  # fmt: skip
    assert dict(passed) == {
        "cookie": "theirs=1",
        "accept": "text/html",
        "origin": "http://n1:20000",
        "x-forwarded-prefix": "/proxy/12/web.0.http/~t:1:s",
        "x-forwarded-host": "hydra.example",
        "x-forwarded-proto": "https",
        "x-hydra-user": "ann",
    }


def test_what_comes_out_reaches_no_further_than_its_own_pages() -> None:
    passed = outwards(
        ("content-type", "text/html"), ("content-length", "3"), ("transfer-encoding", "chunked"),
        ("clear-site-data", '"*"'), ("strict-transport-security", "max-age=1"), ("access-control-allow-origin", "evil"),
        ("content-security-policy", "default-src 'self'"), ("service-worker-allowed", "/"), ("alt-svc", "h3"),
        ("referrer-policy", "unsafe-url"), ("report-to", "{}"),
    )  # fmt: skip
    assert [v for n, v in passed if n == "content-security-policy"] == ["default-src 'self'", headers.SANDBOX]
    assert "allow-same-origin" not in headers.SANDBOX and "allow-top-navigation" not in headers.SANDBOX
    assert {n for n, _ in passed} == {
        "content-type", "content-length", "content-security-policy", "cache-control", "referrer-policy",
        "cross-origin-opener-policy", "cross-origin-resource-policy", "access-control-allow-origin",
        "access-control-expose-headers",
    }  # fmt: skip
    assert ("access-control-allow-origin", "*") in passed and ("referrer-policy", "same-origin") in passed


@pytest.mark.parametrize(
    ("cookie", "kept"),
    [
        ("sessionid=evil; Path=/", None),
        (" SessionID =evil", None),
        ("csrftoken=x; Domain=hydra.example", None),
        ("__Host-x=1; Secure; Path=/", None),
        ("=nameless", None),
        ("theirs=1; Path=/; Domain=hydra.example; HttpOnly", "theirs=1; HttpOnly; Path=/proxy/12/web.0.http/"),
        ("theirs=1; PATH = /api; Max-Age=5", "theirs=1; Max-Age=5; Path=/proxy/12/web.0.http/"),
    ],
)
def test_cookies_are_kept_to_the_pages_they_come_from(cookie: str, kept: str | None) -> None:
    assert [v for n, v in outwards(("set-cookie", cookie)) if n == "set-cookie"] == ([kept] if kept else [])


@pytest.mark.parametrize(
    ("location", "moved"),
    [
        ("/login?next=%2F#top", "/proxy/12/web.0.http/~t:1:s/login?next=%2F#top"),
        ("http://n1:20000/a", "/proxy/12/web.0.http/~t:1:s/a"),
        ("http://n1:20000", "/proxy/12/web.0.http/~t:1:s/"),
        ("//n1:20000/a", "/proxy/12/web.0.http/~t:1:s/a"),
        ("../up", "../up"),
        ("?page=2", "?page=2"),
    ],
)
def test_redirects_within_the_application_stay_within(location: str, moved: str) -> None:
    assert ("location", moved) in outwards(("location", location))


@pytest.mark.parametrize(
    "location",
    [
        "https://evil.example/", "http://evil.example/", "//evil.example/x", "///evil.example", "\\\\evil.example",
        "/\\evil.example", "/\t/evil.example", "javascript:alert(1)", "http:evil.example", "https://n1:20000/",
        "http://n1:20001/", "http://n1:20000@evil.example/", "data:text/html,x", "http://[::1", " //evil.example",
    ],
)  # fmt: skip
def test_redirects_elsewhere_are_not_made(location: str) -> None:
    with pytest.raises(headers.LeadsElsewhere):
        outwards(("location", location))


@given(st.text(max_size=60))
def test_no_redirect_leaves_our_site(text: str) -> None:
    try:
        (moved,) = [v for n, v in outwards(("location", text)) if n == "location"]
    except headers.LeadsElsewhere:
        return
    as_browsers_read = "".join(c for c in moved.strip() if c not in "\t\r\n").replace("\\", "/")
    assert not as_browsers_read.startswith("//")
    assert not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", as_browsers_read)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/proxy/12/http", (12, "http", "", "")),
        ("/proxy/12/web.0.http/", (12, "web.0.http", "", "/")),
        ("/proxy/12/http/a/~b", (12, "http", "", "/a/~b")),
        ("/proxy/12/http/~t:1:s", (12, "http", "~t:1:s", "")),
        ("/proxy/12/http/~t:1:s/a%2Fb//c", (12, "http", "~t:1:s", "/a%2Fb//c")),
    ],
)
def test_addresses_are_taken_apart(path: str, parts: tuple[int, str, str, str]) -> None:
    assert parse(path) == Address(*parts)


@pytest.mark.parametrize(
    "path",
    ["/proxy/", "/proxy/0/http/", "/proxy/x/http/", "/proxy/12/", "/proxy/12/HTTP/", "/proxy/١/http/", "/proxyx/1/a/"],
)
def test_what_is_no_address_is_none(path: str) -> None:
    assert parse(path) is None
