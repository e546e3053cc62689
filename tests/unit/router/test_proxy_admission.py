"""What strangers may cause behind the tracking proxy: few looks into the StateStore, and nobody else's trouble."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches
from rest_framework.throttling import SimpleRateThrottle

from controlplane.router.proxy import access, app
from controlplane.router.proxy.access import NOT_SIGNED_IN, Admission, ProxyRefusal
from controlplane.router.proxy.address import Address
from controlplane.statestore.queries.jobs.endpoints import EndpointTarget

PAGE = Address(1, "http", "", "/")
ADMITTED = Admission("alice", None)  # type: ignore[arg-type] - nothing is passed on here


class Looks:
    """The StateStore's answers: one token is good. count: how often it was asked."""

    def __init__(self) -> None:
        self.count = 0

    def admit(self, address: Address, token: str) -> Admission | ProxyRefusal:
        self.count += 1
        return ADMITTED if token == "Token good" else NOT_SIGNED_IN


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Looks]:
    found = Looks()
    monkeypatch.setattr(access, "admit_token", found.admit)
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "proxy", "20/min")
    caches["throttles"].clear()
    yield found
    caches["throttles"].clear()


async def _nobody(*_: Any) -> None:
    raise AssertionError("nothing is passed on here")


def test_one_address_causes_few_looks(looks: Looks) -> None:
    async def ask() -> list[Admission | ProxyRefusal]:
        proxy = app.Proxy(_nobody, _nobody)
        return [await proxy._admit(PAGE, f"Token junk{n}", "192.0.2.1") for n in range(300)]

    found = asyncio.run(ask())
    assert looks.count == 20
    assert [refusal.status for refusal in found if isinstance(refusal, ProxyRefusal)] == [401] * 20 + [429] * 280


def test_the_refused_do_not_displace_what_is_known_of_others(looks: Looks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "KNOWN_MAX", 50)
    monkeypatch.setattr(app, "KNOWN_S", 60.0)

    async def ask() -> Admission | ProxyRefusal:
        proxy = app.Proxy(_nobody, _nobody)
        await proxy._admit(PAGE, "Token good", "192.0.2.1")
        for n in range(200):
            await proxy._admit(PAGE, f"Token junk{n}", f"198.51.100.{n}")
        assert len(proxy.refused) <= 50
        return await proxy._admit(PAGE, "Token good", "192.0.2.1")

    assert asyncio.run(ask()) is ADMITTED
    assert looks.count == 201


def page(container: int, tenant: int) -> Admission:
    return Admission("alice", EndpointTarget("192.0.2.1", 80, container, tenant), tenant)


def test_a_tenants_pages_take_their_part_of_the_connections_and_no_more(settings: Any) -> None:
    settings.HYDRA = settings.HYDRA | {"proxy_tenant": 5}

    async def play() -> None:
        proxy = app.Proxy(_nobody, _nobody)
        end = asyncio.Event()
        held = [
            asyncio.create_task(proxy._while_allowed(_until(end), PAGE, "", page(container, 7)))
            for container in (1, 2, 3, 4, 5)
        ]
        await asyncio.sleep(0)
        assert not proxy._has_room(page(6, 7)), "not even for another container of the tenant's"
        assert proxy._has_room(page(6, 8))
        end.set()
        await asyncio.gather(*held)
        assert proxy._has_room(page(6, 7)) and not proxy.tenants.held and not proxy.open.held

    asyncio.run(play())


async def _until(end: asyncio.Event) -> None:
    await end.wait()


def test_an_application_that_is_slow_to_let_go_has_its_place_until_it_has() -> None:
    async def play() -> None:
        proxy, gone = app.Proxy(_nobody, _nobody), asyncio.Event()

        async def bridge() -> None:
            try:
                await asyncio.Future()
            finally:
                await gone.wait()  # as a socket waits for the other end to say that it closes

        held = asyncio.create_task(proxy._while_allowed(bridge(), PAGE, "", page(1, 7), left=asyncio.sleep(0)))
        for _ in range(10):
            await asyncio.sleep(0)
        assert proxy.open.held == {1: 1} and proxy.tenants.held == {7: 1}
        gone.set()
        await held
        assert not proxy.open.held and not proxy.tenants.held

    asyncio.run(play())
