"""HTTP with patience: which failures are worth another try, and when.

A request is repeated after 429 (refused before any work, so always safe) and,
when repeating it cannot do its work twice, after 502, 503, 504 and broken
connections. ``Retry-After`` is obeyed; otherwise the pause doubles, with jitter.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_before_delay, wait_random_exponential

from client.errors import HydraError, Unreachable, client_error, problem_from
from contract.problems import Problem

Body = Callable[[], Iterable[bytes]]  # called anew for every try
_HEALTH = "/api/v1/healthz"
_TRANSIENT = frozenset({429, 502, 503, 504})
_SLACK = timedelta(seconds=2)  # a Date has whole seconds, and was on its way
_BACK_OFF = wait_random_exponential(multiplier=0.2, max=5.0)
_UNLIKELY_STATUS = "The server answered {status} {phrase}"


def is_loopback(url: str) -> bool:
    """Whether ``url`` stays on this host."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def authorities() -> ssl.SSLContext:
    """Who may have signed a server's certificate: those of SSL_CERT_FILE, else this host's and the usual ones."""
    found = httpx.create_ssl_context()
    if not os.environ.get("SSL_CERT_FILE"):
        found.load_default_certs()
    return found


def check_url(url: str) -> str:
    """``url`` without a trailing slash; ``HydraError`` when it is not one of http(s)."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise client_error(
            f"not an address of a Hydra server: {url!r}",
            field_name="url",
            remedy="Give one like http://127.0.0.1:8470, or set HYDRA_URL.",
        )
    return url.rstrip("/")


class Transport:
    """One server, one token. Safe to use from several threads."""

    def __init__(self, url: str, token: str | None, *, timeout_s: float, retry_s: float) -> None:
        self.url = check_url(url)
        self.retry_s = retry_s
        headers = {"Accept": "application/json, application/problem+json"}
        # A proxy named in the environment is for the world outside this host.
        self._http = httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=timeout_s,
            trust_env=not is_loopback(self.url),
            verify=authorities() if self.url.startswith("https:") else True,
            event_hooks={"response": [self._heard]},
        )
        self._ahead: timedelta | None = None  # the server's clock of this machine's
        self.authorization = ""
        if token:
            self.use(token)

    def use(self, token: str) -> None:
        """Be known by this token from now on."""
        self.authorization = f"Token {token}"
        self._http.headers["Authorization"] = self.authorization

    def close(self) -> None:
        self._http.close()

    def now(self) -> datetime:
        """The server's time; it is asked for it where it has answered nothing yet."""
        if self._ahead is None and not self._http.is_closed:
            with suppress(HydraError):  # a refusal tells the time as well
                self.request("GET", _HEALTH, patience_s=0)
        return datetime.now(UTC) + (self._ahead or timedelta())

    def _heard(self, answer: httpx.Response) -> None:
        try:
            ahead = parsedate_to_datetime(answer.headers.get("Date", "")) - datetime.now(UTC)
        except (TypeError, ValueError):  # none, or one without a zone
            ahead = timedelta()
        self._ahead = ahead if abs(ahead) > _SLACK else timedelta()

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        body: Body | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool | None = None,
        patience_s: float | None = None,
        timeout_s: float | None = None,
    ) -> httpx.Response:
        """Send, repeat while that is safe and may help, and return a 2xx answer; else ``HydraError``.

        ``repeatable``: doing it twice equals doing it once (by default everything but POST).
        ``patience_s``: how long to go on trying, instead of the client's ``retry_s``.
        """
        safe = method != "POST" if repeatable is None else repeatable
        extra: dict[str, Any] = {} if timeout_s is None else {"timeout": timeout_s}

        def once() -> httpx.Response:
            with self._translated():
                answer = self._http.request(
                    method,
                    path,
                    params={k: v for k, v in (params or {}).items() if v is not None},
                    json=json,
                    content=body() if body else None,
                    headers=dict(headers or {}),
                    **extra,
                )
            return _good(answer)

        answer: httpx.Response = self._retrying(safe, patience_s)(once)
        return answer

    def stream(
        self,
        path: str,
        take: Callable[[httpx.Response], None],
        *,
        patience_s: float | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """GET ``path`` and hand the open answer to ``take``; from the start again when the connection breaks.

        ``timeout_s``: how long nothing may come, instead of the client's.
        """
        extra: dict[str, Any] = {} if timeout_s is None else {"timeout": timeout_s}

        def once() -> None:
            with self._translated(), self._http.stream("GET", path, headers={"Accept": "*/*"}, **extra) as answer:
                if not answer.is_success:
                    answer.read()
                take(_good(answer))

        self._retrying(True, patience_s)(once)

    def _retrying(self, safe: bool, patience_s: float | None) -> Retrying:
        return Retrying(
            retry=retry_if_exception(lambda error: _worth_another_try(error, safe)),
            wait=_pause_s,
            stop=stop_before_delay(self.retry_s if patience_s is None else patience_s),
            reraise=True,
        )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """httpx's errors become ours."""
        try:
            yield
        except httpx.TransportError as error:
            sent = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
            what = str(error) or type(error).__name__
            raise Unreachable(
                Problem(
                    title="The server did not answer",
                    detail=f"{self.url} does not answer ({what}). Check the address (HYDRA_URL or hydractl login) "
                    "and that the cluster runs.",
                ),
                sent=sent,
            ) from error


def _good(answer: httpx.Response) -> httpx.Response:
    """``answer`` when it is a success, else its problem document as ``HydraError``."""
    if answer.is_success:
        return answer
    fallback = _UNLIKELY_STATUS.format(status=answer.status_code, phrase=answer.reason_phrase)
    try:
        body = answer.json()
    except ValueError:
        body = None
    problem = problem_from(answer.status_code, body, fallback)
    if answer.status_code == 401 and not answer.request.url.path.endswith("/auth/login"):
        problem = Problem(
            title=problem.title,
            status=401,
            detail="The server does not accept your token, or you have none. Log in with: hydractl login",
        )
    raise HydraError(problem, retry_after_s=retry_after_s(answer.headers.get("Retry-After")))


def retry_after_s(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a ``Retry-After`` header asks for: a number or an HTTP date; None when it says nothing usable."""
    if not value:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


def _worth_another_try(error: BaseException, safe: bool) -> bool:
    if isinstance(error, Unreachable):
        return safe or not error.sent
    if isinstance(error, HydraError):
        return error.status == 429 or (safe and error.status in _TRANSIENT)
    return False


def _pause_s(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after_s if isinstance(error, HydraError) else None
    return _BACK_OFF(state) if asked is None else asked
