"""WebSockets by where they come from: one address holds so many and no more."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.conf import settings

from controlplane.accounts.places import Places
from controlplane.accounts.throttles import address_of

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
TOO_MANY = 4429  # close code: too many are open; later there may be room


class BoundedSockets:
    """An application's sockets, of which each address has ``HYDRA_SOCKETS_ADDRESS``, signed in or not."""

    def __init__(self, application: Callable[[Message, Receive, Send], Awaitable[None]]) -> None:
        self.application = application
        self.places = Places(settings.HYDRA["sockets_address"])

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        who = address_of({"REMOTE_ADDR": (scope.get("client") or ("",))[0]})
        if not who:  # a Unix socket's other end is a proxy, and not one that asks
            await self.application(scope, receive, send)
        elif not self.places.take(who):
            await receive()
            await send({"type": "websocket.close", "code": TOO_MANY, "reason": "too many from this address"})
        else:
            try:
                await self.application(scope, receive, send)
            finally:
                self.places.give_back(who)
