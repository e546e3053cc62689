"""The sockets of execs as an ASGI application around the others: what is not its own it passes on to them."""

import re
from collections.abc import Awaitable, Callable

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from rest_framework.exceptions import AuthenticationFailed

from controlplane.accounts.throttles import Proxied, address_of
from controlplane.router.execs import node, person
from controlplane.router.execs.socket import FrameSocket, Message, Receive, Send
from controlplane.router.threads import MAX_WAITING, Threads
from controlplane.statestore.models import Exec
from wire import nodeapi
from wire.execs import SOCKET

Application = Callable[[Message, Receive, Send], Awaitable[None]]
REFUSED = 4403
_PATH = re.compile(rf"(?:(?P<node>{nodeapi.PREFIX}/execs)|{SOCKET})/(?P<number>[1-9][0-9]{{0,17}})", re.ASCII)


class Execs:
    """One per process, on one event loop. Who has neither a token nor a credential is refused before the handshake."""

    def __init__(self, other: Application) -> None:
        self.other = other
        self.threads = Threads("execs", 2)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        match = _PATH.fullmatch(scope["path"])
        if match is None:
            await self.other(scope, receive, send)
            return
        await receive()  # the handshake
        header = next((value for name, value in scope["headers"] if name.lower() == b"authorization"), b"")
        socket, number = FrameSocket(receive, send), int(match["number"])
        found = await self._found(scope, header, bool(match["node"]), number)
        if found is None:
            await socket.close(REFUSED)
            return
        await socket.accept()
        if match["node"]:
            await node.NodeEnd(socket, found).serve()
        else:
            address = address_of({"REMOTE_ADDR": (scope.get("client") or ("",))[0]})
            await person.Person(socket, found, header.decode("latin1"), address, self.threads).serve()

    async def _found(self, scope: Message, header: bytes, of_node: bool, number: int) -> Exec | None:
        """What waits for this socket. Unknown, another's, ended and taken are refused alike."""
        insecure = settings.SECURE_SSL_REDIRECT and scope.get("scheme") == "ws"
        address = str((scope.get("client") or ("",))[0])
        if not header or insecure or self.threads.waiting > MAX_WAITING or not Proxied().allows(address):
            return None
        try:
            if of_node:
                return await self.threads.start(node.join, header, number)
            return await self.threads.start(person.attach, header.decode("latin1"), number)
        except (AuthenticationFailed, DatabaseError, InterfaceError):
            return None
