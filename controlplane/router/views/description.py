"""The API's description in OpenAPI: the same for everybody, so a web process makes it once and keeps its bytes."""

import functools
import threading
from typing import Any

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.settings import spectacular_settings
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

FORMS: dict[str, type[BaseRenderer]] = {kind.format: kind for kind in (OpenApiYamlRenderer, OpenApiJsonRenderer)}
_making = threading.Lock()


class Description(SpectacularAPIView):
    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """As YAML or as JSON, by what the request accepts. Needs no account."""
        renderer: BaseRenderer = request.accepted_renderer
        kind = f"{renderer.media_type}; charset={renderer.charset}" if renderer.charset else renderer.media_type
        name = f'inline; filename="{spectacular_settings.TITLE}.{renderer.format}"'
        with _making:  # whoever asks meanwhile waits for it instead of making another
            written = _written(renderer.format)
        return HttpResponse(written, content_type=kind, headers={"Content-Disposition": name})


@functools.cache
def described() -> dict[str, Any]:
    """The description itself; nobody changes it."""
    return SchemaGenerator().get_schema(public=True)


@functools.cache
def _written(form: str) -> bytes:
    """In one of the ``FORMS``, whatever names its media type goes by."""
    return bytes(FORMS[form]().render(described()))
