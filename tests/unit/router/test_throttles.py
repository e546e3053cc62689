"""Rates are of addresses that a request cannot choose, and nobody makes them forget."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import caches
from rest_framework.throttling import SimpleRateThrottle

from controlplane.accounts import throttles
from controlplane.embedded.management.commands import web
from controlplane.router.masterauth import ByMaster


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("login", "join", "anonymous", "master", "proxy"):
        monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, name, "3/min")
    caches["throttles"].clear()


def allowed(kind: Any, address: str, claimed: str = "") -> bool:
    meta = {"REMOTE_ADDR": address} | ({"HTTP_X_FORWARDED_FOR": claimed} if claimed else {})
    return bool(kind().allow_request(SimpleNamespace(META=meta, user=None), None))


@pytest.mark.parametrize("kind", [throttles.Login, throttles.Join, throttles.ByAccount, throttles.Proxied, ByMaster])
def test_a_header_does_not_make_a_request_come_from_elsewhere(kind: Any) -> None:
    assert sum(allowed(kind, "192.0.2.1", f"198.51.100.{n}") for n in range(20)) == 3


def test_who_has_asked_too_often_is_not_forgotten_for_others_who_ask() -> None:
    assert [allowed(throttles.Login, "192.0.2.1") for _ in range(4)] == [True, True, True, False]
    for n in range(2000):
        allowed(throttles.Login, f"10.0.{n // 250}.{n % 250}")
        caches["default"].set(f"token-used:{n}", True)
    assert not allowed(throttles.Login, "192.0.2.1")


def test_an_ipv6_network_is_one_address() -> None:
    assert sum(allowed(throttles.Login, f"2001:db8:0:1::{n:x}") for n in range(20)) == 3
    assert allowed(throttles.Login, "2001:db8:0:2::1")
    assert throttles.address_of({"REMOTE_ADDR": ""}) == throttles.address_of({}) == ""


@pytest.mark.parametrize(("trusted", "believed"), [([], False), (["10.0.0.0/8"], True)])
def test_only_proxies_that_are_named_are_believed(
    monkeypatch: pytest.MonkeyPatch, settings: Any, trusted: list[str], believed: bool
) -> None:
    settings.TRUSTED_PROXIES = trusted
    served = web.configuration(access_log=False)
    assert served.proxy_headers is believed
    assert list(served.forwarded_allow_ips) == trusted
