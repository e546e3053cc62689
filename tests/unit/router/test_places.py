"""How much a party holds open: each kind by its limit, which is one at least."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from controlplane import settings
from controlplane.accounts.places import PartyPlaces


def test_who_is_known_and_an_address_have_limits_of_their_own_and_a_proxy_none() -> None:
    places = PartyPlaces(2, 1)
    assert [places.take(1) for _ in range(3)] == [True, True, False]
    assert [places.take("192.0.2.1") for _ in range(2)] == [True, False]
    assert all(places.take("") for _ in range(5))
    places.give_back("")
    places.give_back(1)
    assert places.take(1) and not places.take("192.0.2.1")


@pytest.mark.parametrize("said", ["0", "-1", "many"])
def test_a_limit_that_would_serve_nobody_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("HYDRA_BODIES_USER", said)
    with pytest.raises(ImproperlyConfigured, match=r"HYDRA_BODIES_USER is '.*'; use a"):
        settings.places("HYDRA_BODIES_USER", 64)
