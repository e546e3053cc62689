"""The proxy as an ASGI application around the others: what is not its own it passes on to them."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import httpx
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from controlplane.accounts.places import Places
from controlplane.accounts.throttles import Proxied
from controlplane.router.proxy import PREFIX, access, headers, pages
from controlplane.router.proxy.access import Admission, ProxyRefusal
from controlplane.router.proxy.address import Address, parse
from controlplane.router.proxy.forward import CONNECTIONS, Body, Exchange, Message, Receive, Send, authority, length_of
from controlplane.router.proxy.sockets import bridge
from controlplane.router.site import site_of
from controlplane.router.threads import MAX_WAITING, Threads

Application = Callable[[Message, Receive, Send], Awaitable[None]]
_Who = tuple[Address, str]  # a ticket or a token, and what it is to open

OPEN_MAX = 64  # exchanges and sockets of one container, so that one cannot take all connections
KNOWN_S = 2.0  # how long an answer of the StateStore is good for: a page fetches dozens of files at once
KNOWN_MAX = 4096  # answers of one kind
LOOK_AGAIN_S = 10.0  # a long exchange ends soon after its right has
REFUSED = 4403  # close code of a WebSocket that may not be
OFTEN = ProxyRefusal(429, "Too many requests", "Wait a second and try again.")
AWAY = ProxyRefusal(503, "The StateStore does not answer", "Nothing was lost; try again shortly.")
WRONG_HOST = ProxyRefusal(400, "This host is not served here", "Use the address that the operators gave you.")


class Proxy:
    """``http`` and ``websocket``: the applications for everything else. One per process, on one event loop."""

    def __init__(self, http: Application, websocket: Application) -> None:
        self.http, self.websocket = http, websocket
        self.threads = Threads("proxy", 2)
        self.known: dict[_Who, tuple[float, Admission | ProxyRefusal]] = {}
        self.refused: dict[_Who, tuple[float, Admission | ProxyRefusal]] = {}  # apart: anybody may be refused
        self.open = Places(OPEN_MAX)
        self.tenants = Places(settings.HYDRA["proxy_tenant"])
        self.client: httpx.AsyncClient | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        other = self.http if scope["type"] == "http" else self.websocket
        raw = scope.get("raw_path") or scope["path"].encode()
        if not raw.startswith(PREFIX.encode()):
            await other(scope, receive, send)
            return
        address = parse(raw.decode("latin1"))
        found = [(n.decode("latin1").lower(), v.decode("latin1")) for n, v in scope["headers"]]
        token = next((v for n, v in found if n == "authorization"), "")
        insecure = settings.SECURE_SSL_REDIRECT and scope.get("scheme") in ("http", "ws")
        if address is None or not (address.ticket or token) or insecure:
            await other(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send, address, found, token)
        else:
            await self._socket(scope, receive, send, address, found, token)

    # --- HTTP

    async def _http(
        self, scope: Message, receive: Receive, send: Send, address: Address, found: list[headers.Header], token: str
    ) -> None:
        if (
            address.ticket
            and scope["method"] == "OPTIONS"
            and any(n == "access-control-request-method" for n, _ in found)
        ):
            await _answer(send, 204, headers.PREFLIGHT)
            return
        site = site_of(scope, _host(found))
        admission = WRONG_HOST if site is None else await self._admit(address, token, _from(scope))
        if isinstance(admission, Admission) and not self._has_room(admission):
            admission = pages.busy(address.endpoint, address.job_id)
        if isinstance(admission, ProxyRefusal):
            await _say(send, admission, f"/jobs/{address.job_id}", f"Job {address.job_id}")
        elif not address.path:
            query = f"?{scope['query_string'].decode('latin1')}" if scope["query_string"] else ""
            await _answer(send, 308, [("location", f"{address.prefix}/{query}"), ("content-length", "0")])
        else:
            assert site is not None
            passed = _passed(found, address, admission, site)
            body = Body(receive, length_of(found))
            exchange = Exchange(self._client(), address, admission, settings.HYDRA["proxy_answer_s"])
            work = self._exchange(exchange, scope, passed, body, send)
            await self._while_allowed(work, address, token, admission, body.left())

    async def _exchange(
        self, exchange: Exchange, scope: Message, passed: list[headers.Header], body: Body, send: Send
    ) -> None:
        instead = await exchange.run(scope, passed, body, send, _own())
        if isinstance(instead, headers.LeadsElsewhere):
            where = str(instead)
            link = where if where.lower().startswith(("http://", "https://")) else ""
            await _say(send, pages.elsewhere(where), link, "Go there")
        elif instead is not None:
            await _say(send, instead, f"/jobs/{exchange.address.job_id}", f"Job {exchange.address.job_id}")

    def _client(self) -> httpx.AsyncClient:
        if self.client is None:
            limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=40, keepalive_expiry=5.0)
            self.client = httpx.AsyncClient(limits=limits, trust_env=False, follow_redirects=False)
        return self.client

    # --- WebSocket

    async def _socket(
        self, scope: Message, receive: Receive, send: Send, address: Address, found: list[headers.Header], token: str
    ) -> None:
        await receive()  # the handshake
        site = site_of(scope, _host(found))
        admission = WRONG_HOST if site is None else await self._admit(address, token, _from(scope))
        if isinstance(admission, ProxyRefusal) or site is None or not self._has_room(admission):
            await send({"type": "websocket.close", "code": REFUSED, "reason": ""})
            return
        passed = [h for h in _passed(found, address, admission, site) if h[0] != "origin"]
        work = bridge(scope, receive, send, address, admission, passed)
        if not await self._while_allowed(work, address, token, admission):
            with contextlib.suppress(Exception):  # the browser may be gone already
                await send({"type": "websocket.close", "code": REFUSED, "reason": ""})

    # --- rights

    def _has_room(self, admission: Admission) -> bool:
        return self.open.has_room(admission.target.container_id) and self.tenants.has_room(admission.tenant)

    async def _admit(self, address: Address, token: str, asker: str | None = None) -> Admission | ProxyRefusal:
        """The StateStore's answer, at most ``KNOWN_S`` old. asker: address of a stranger, who may not ask too often."""
        who = Address(address.job_id, address.endpoint, address.ticket, ""), "" if address.ticket else token
        until, known = self.known.get(who) or self.refused.get(who) or (0.0, AWAY)
        if time.monotonic() < until:
            return known
        if asker is not None and (self.threads.waiting > MAX_WAITING or not Proxied().allows(asker)):
            return OFTEN
        try:
            if address.ticket:
                known = await self.threads.start(access.admit_ticket, address)
            else:
                known = await self.threads.start(access.admit_token, address, token)
        except (DatabaseError, InterfaceError):
            return AWAY
        kept, other = (self.refused, self.known) if isinstance(known, ProxyRefusal) else (self.known, self.refused)
        other.pop(who, None)
        kept.pop(who, None)
        kept[who] = time.monotonic() + KNOWN_S, known
        if len(kept) > KNOWN_MAX:
            del kept[next(iter(kept))]  # the oldest
        return known

    async def _while_allowed(
        self,
        work: Coroutine[Any, Any, None],
        address: Address,
        token: str,
        admission: Admission,
        left: Coroutine[Any, Any, None] | None = None,
    ) -> bool:
        """Do ``work`` until it ends, the browser has left or the right ends; whether it was allowed to its end."""
        held = (self.open, admission.target.container_id), (self.tenants, admission.tenant)
        working = asyncio.create_task(work)
        forbidden = asyncio.create_task(self._forbidden(address, token))
        others = {forbidden} | ({asyncio.create_task(left)} if left else set())
        for places, who in held:
            places.take(who)
        try:
            await asyncio.wait({working, *others}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            allowed = working.done() or not forbidden.done()
            for task in (working, *others):
                task.cancel()
            try:
                await asyncio.gather(working, *others, return_exceptions=True)
            finally:
                for places, who in held:  # an application may be slow to let its socket go
                    places.give_back(who)
        if not working.cancelled() and (error := working.exception()):
            raise error
        return allowed

    async def _forbidden(self, address: Address, token: str) -> None:
        """Until the right to go on is known to have ended. A store that is away ends nothing."""
        while True:
            await asyncio.sleep(LOOK_AGAIN_S)
            found = await self._admit(address, token)
            if isinstance(found, ProxyRefusal) and found.status in (401, 403, 404):
                return


def _from(scope: Message) -> str:
    """The address that the connection came from."""
    return str((scope.get("client") or ("",))[0])


def _host(found: list[headers.Header]) -> str:
    return next((v for n, v in found if n == "host"), "")


def _own() -> set[str]:
    """Names of our own cookies, as browsers compare them at best."""
    return {settings.SESSION_COOKIE_NAME.lower(), settings.CSRF_COOKIE_NAME.lower(), "messages"}


def _passed(found: list[headers.Header], address: Address, admission: Admission, site: str) -> list[headers.Header]:
    upstream = authority(admission.target.host, admission.target.port)
    return headers.inwards(found, _own(), address=address, upstream=upstream, site=site, user=admission.user)


async def _answer(send: Send, status: int, found: list[headers.Header], body: bytes = b"") -> None:
    head = [(n.encode("latin1"), v.encode("latin1")) for n, v in found]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


async def _say(send: Send, refusal: ProxyRefusal, href: str = "", words: str = "") -> None:
    body = pages.page(refusal, href, words)
    await _answer(send, refusal.status, [*pages.HEADERS.items(), ("content-length", str(len(body)))], body)
