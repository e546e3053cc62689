"""The API's description: what the framework's own view would answer, and made once only."""

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.views import SpectacularAPIView

from controlplane.router.views import description

UTF8 = "; charset=utf-8"  # which forms of JSON do not have
KINDS = {
    "application/vnd.oai.openapi": UTF8,
    "application/yaml": UTF8,
    "application/vnd.oai.openapi+json": "",
    "application/json": "",
}


def asked(kind: str, view: type[SpectacularAPIView] = description.Description) -> HttpResponse:
    return view.as_view()(RequestFactory().get("/api/v1/schema", headers={"accept": kind}))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_says_what_it_is(kind: str) -> None:
    said = asked(kind)
    assert (said.status_code, said["Content-Type"], said["Vary"]) == (200, kind + KINDS[kind], "Accept")
    ending = "json" if kind.endswith("json") else "yaml"
    assert said["Content-Disposition"] == f'inline; filename="Hydra.{ending}"'


def test_it_is_what_the_framework_says() -> None:
    framework = asked("application/json", SpectacularAPIView).render()
    said = asked("application/json")
    assert dict(said.headers) == dict(framework.headers)
    assert said.content == framework.content
    assert asked("application/yaml").content == OpenApiYamlRenderer().render(framework.data)


def test_it_is_made_once() -> None:
    assert all(asked(kind).status_code == 200 for kind in [*KINDS] * 2)
    assert description.described.cache_info().misses == 1
    assert description._written.cache_info().misses == len(description.FORMS)


def test_what_it_cannot_be_written_in_is_refused() -> None:
    assert asked("text/html").status_code == 406
