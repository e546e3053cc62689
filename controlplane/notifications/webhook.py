"""One POST to a webhook, signed as the Standard Webhooks specification says. Of the answer only its status counts."""

import asyncio
import base64
import datetime as dt
import hashlib
import hmac
from urllib.parse import urlsplit

import httpx

from controlplane import outside
from controlplane.outside import Place
from controlplane.statestore.actions.receivers import Webhook

TRY_S = 10.0  # for all of it, however the receiver deals its answer out
_PREFIX = "whsec_"


class Untold(Exception):
    """The receiver has not taken it, and why."""


def client() -> httpx.AsyncClient:
    """For many of them. No redirects, no proxies of the environment, and no connection for more than one."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    return httpx.AsyncClient(
        follow_redirects=False, trust_env=False, timeout=TRY_S, limits=limits, verify=httpx.create_ssl_context()
    )


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
    if isinstance(error, httpx.ConnectError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "its certificate is not valid"
    if isinstance(error, httpx.ConnectError):
        return "no connection: nothing answers at that address"
    if isinstance(error, OSError):
        return "its host has no address"
    return f"the exchange failed ({type(error).__name__})"
