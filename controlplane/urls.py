"""Every address: the API for people and programs, the nodes' API, and the front end's pages."""

from django.urls import include, path

from controlplane.dashboard import urls as dashboard
from controlplane.router import urls
from controlplane.router.proxy import PREFIX
from controlplane.router.proxy.views import enter
from controlplane.router.views import system
from wire import nodeapi

urlpatterns = [
    path("api/v1/", include(urls.api)),
    path(nodeapi.PREFIX.strip("/") + "/", include(urls.node)),
    path("healthz", system.Healthz.as_view(schema=None)),
    path("metrics", system.Metrics.as_view(schema=None)),
    path(f"{PREFIX.strip('/')}/<path:rest>", enter),
    path("", include(dashboard.urlpatterns)),
]
handler400 = "controlplane.router.problems.bad_request"
handler403 = "controlplane.router.problems.permission_denied"
handler404 = "controlplane.router.problems.not_found"
handler500 = "controlplane.router.problems.server_error"
