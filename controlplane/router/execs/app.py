"""The sockets of execs as an ASGI application around the others: what is not its own it passes on to them."""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http.cookie import parse_cookie
from rest_framework.exceptions import AuthenticationFailed

from controlplane.accounts.throttles import Proxied, address_of
from controlplane.router.execs import node, person
from controlplane.router.execs.person import Who
from controlplane.router.execs.socket import FrameSocket, Message, Receive, Send
from controlplane.router.proxy.access import by_session, by_token
from controlplane.router.site import is_ours
from controlplane.router.threads import MAX_WAITING, Threads
from controlplane.statestore.models import Exec
from wire import nodeapi
from wire.execs import SOCKET

Application = Callable[[Message, Receive, Send], Awaitable[None]]
T = TypeVar("T")
REFUSED = 4403
_PATH = re.compile(rf"(?:(?P<node>{nodeapi.PREFIX}/execs)|{SOCKET})/(?P<number>[1-9][0-9]{{0,17}})", re.ASCII)


class Execs:
    """One per process, on one event loop. Whom nothing names is refused before the handshake."""

    def __init__(self, other: Application) -> None:
        self.other = other
        self.threads = Threads("execs", 2)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        match = _PATH.fullmatch(scope["path"])
        if match is None:
            await self.other(scope, receive, send)
            return
        await receive()  # the handshake
        socket, number = FrameSocket(receive, send), int(match["number"])
        address = str((scope.get("client") or ("",))[0])
        if self._refuses(scope, address):
            await socket.close(REFUSED)
        elif match["node"]:
            await self._node(socket, _header(scope, b"authorization"), number)
        else:
            await self._person(socket, _who(scope), number, address_of({"REMOTE_ADDR": address}))

    def _refuses(self, scope: Message, address: str) -> bool:
        insecure = settings.SECURE_SSL_REDIRECT and scope.get("scheme") == "ws"
        return insecure or self.threads.waiting > MAX_WAITING or not Proxied().allows(address)

    async def _node(self, socket: FrameSocket, header: str, number: int) -> None:
        joined = await self._found(node.join, header.encode("latin1"), number) if header else None
        if joined is None:
            await socket.close(REFUSED)
            return
        await socket.accept()
        await node.NodeEnd(socket, joined).serve()

    async def _person(self, socket: FrameSocket, who: Who | None, number: int, address: str) -> None:
        begun = await self._found(person.attach, who, number) if who else None
        if who is None or begun is None:
            await socket.close(REFUSED)
            return
        await socket.accept()
        await person.Person(socket, begun, who, address, self.threads).serve()

    async def _found(self, look: Callable[[T, int], Exec | None], whose: T, number: int) -> Exec | None:
        """What waits for this socket. Unknown, another's, ended and taken are refused alike."""
        try:
            return await self.threads.start(look, whose, number)
        except (AuthenticationFailed, DatabaseError, InterfaceError):
            return None


def _header(scope: Message, wanted: bytes) -> str:
    found = next((value for name, value in scope["headers"] if name.lower() == wanted), b"")
    return str(found, "latin1")


def _who(scope: Message) -> Who | None:
    """Whose socket it is: by the token, or by the session of whoever looks at a page of ours; None without both."""
    if token := _header(scope, b"authorization"):
        return partial(by_token, token)
    if not is_ours(scope, _header(scope, b"host"), _header(scope, b"origin")):
        return None  # any page may open sockets to us, and the browser adds the cookie
    key = parse_cookie(_header(scope, b"cookie")).get(settings.SESSION_COOKIE_NAME)
    return partial(by_session, key) if key else None
