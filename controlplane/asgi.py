"""ASGI entry: pages of jobs to the tracking proxy, HTTP to Django, WebSockets to the dashboard's consumers.

Sockets of commands in containers bring a token or a node's credential; of those that come from a page of ours,
``Execs`` itself checks origin and session."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
django.setup(set_prefix=False)

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from controlplane.router.execs.app import Execs  # noqa: E402 - needs the apps that the line above has loaded
from controlplane.router.http import HttpHandler  # noqa: E402
from controlplane.router.proxy.app import Proxy  # noqa: E402
from controlplane.router.sockets import BoundedSockets  # noqa: E402

try:
    from controlplane.dashboard.routing import websocket_urlpatterns
except ModuleNotFoundError:
    websocket_urlpatterns = []

http = HttpHandler()
proxy = Proxy(http, AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))))
application = ProtocolTypeRouter({"http": proxy, "websocket": BoundedSockets(Execs(proxy))})
