"""One POST to a webhook, signed as the Standard Webhooks specification says. Of the answer only its status counts."""

import asyncio
import base64
import datetime as dt
import hashlib
import hmac
import ssl
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx

from controlplane import outside
from controlplane.outside import Place
from controlplane.statestore.actions.receivers import Webhook

TRY_S = 10.0  # for all of it, however the receiver deals its answer out
HEAD_MAX = 16 << 10  # bytes of an answer until its status is known; servers seldom allow themselves more
LONG = "it says more before its status than is read"
_PREFIX = "whsec_"


class Untold(Exception):
    """The receiver has not taken it, and why."""


def client() -> httpx.AsyncClient:
    """For many of them. No redirects, no proxies of the environment, and no connection for more than one."""
    return httpx.AsyncClient(follow_redirects=False, trust_env=False, timeout=TRY_S, transport=_Transport())


class _Transport(httpx.AsyncHTTPTransport):
    """httpx' own, over connections of which little is read: heads and hints (1xx) may come for ever."""

    def __init__(self) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=None,
            max_keepalive_connections=0,
            network_backend=_Network(),
        )


class _Network(httpcore.AsyncNetworkBackend):
    def __init__(self) -> None:
        self._inner: Any = httpcore.AnyIOBackend()  # which is another class where there is no AnyIO

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - its name is given
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(await self._inner.connect_tcp(host, port, timeout, local_address, socket_options))


class _Stream(httpcore.AsyncNetworkStream):
    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner, self._left = inner, HEAD_MAX

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - its name is given
        if not self._left:
            raise httpcore.ReadError(LONG)
        found = await self._inner.read(min(max_bytes, self._left), timeout)
        self._left -= len(found)
        return found

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - its name is given
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - its name is given
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def signature(key: str, number: str, at: int, body: bytes) -> str:
    """``v1,`` and HMAC-SHA256 over id, time and body."""
    raw = base64.b64decode(key.removeprefix(_PREFIX))
    made = hmac.new(raw, f"{number}.{at}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(made).decode()}"


async def post(http: httpx.AsyncClient, webhook: Webhook, number: int, body: bytes) -> None:
    """Send it, or ``Untold``. number: the same for each try of the same thing.

    A name that is still looked for when the time is over is waited for: it has one of few threads, whoever gave it up.
    """
    place = asyncio.ensure_future(outside.resolve(webhook.url))
    try:
        async with asyncio.timeout(TRY_S):
            status = await _post(http, webhook, await asyncio.shield(place), number, body)
    except TimeoutError:
        await asyncio.wait({place})
        place.exception()  # whatever it was, it came too late
        raise Untold(f"no answer within {TRY_S:g} s") from None
    except outside.Inside as error:
        raise Untold(f"{error}; {outside.REMEDY}") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
        raise Untold(_words(error)) from None
    if status // 100 == 3:
        raise Untold(f"answered {status}, and redirects are not followed: give the address it leads to")
    if status // 100 != 2:
        raise Untold(f"answered {status}")


async def _post(http: httpx.AsyncClient, webhook: Webhook, place: Place, number: int, body: bytes) -> int:
    at, name = int(dt.datetime.now(dt.UTC).timestamp()), f"hydra-{number}"
    headers = {
        "host": urlsplit(webhook.url).netloc,
        "content-type": "application/json",
        "user-agent": "Hydra-Webhook/1",
        "webhook-id": name,
        "webhook-timestamp": f"{at}",
        "webhook-signature": signature(webhook.key, name, at, body),
    }
    url = httpx.URL(webhook.url).copy_with(host=place.address)
    request = http.build_request("POST", url, headers=headers, content=body)
    request.extensions["sni_hostname"] = place.host  # whose certificate it has to show
    answer = await http.send(request, stream=True)
    try:
        return answer.status_code
    finally:
        await answer.aclose()


def _words(error: Exception) -> str:
    if LONG in str(error):
        return LONG
    if isinstance(error, httpx.ConnectError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "its certificate is not valid"
    if isinstance(error, httpx.ConnectError):
        return "no connection: nothing answers at that address"
    if isinstance(error, OSError):
        return "its host has no address"
    return f"the exchange failed ({type(error).__name__})"
