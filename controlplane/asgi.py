"""ASGI entry: HTTP to Django, WebSockets to the dashboard's consumers."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
http = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402 - needs the apps that the line above has loaded
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

try:
    from controlplane.dashboard.routing import websocket_urlpatterns  # noqa: E402
except ModuleNotFoundError:
    websocket_urlpatterns = []

application = ProtocolTypeRouter(
    {"http": http, "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)))}
)
