"""HTTP to the control plane with the standard library alone, and with patience.

Every call of an application master may be repeated, so each is, with growing
pauses, while the control plane is away (no answer, 5xx) or busy (429).
"""

from __future__ import annotations

import json
import random
import ssl
import time
import urllib.error
import urllib.request
from typing import Any

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
TIMEOUT_S = 15.0


class AMError(Exception):
    """A call was refused. ``status``: of HTTP, 0 when no answer came; ``errors``: the fields that are wrong."""

    def __init__(self, status: int, detail: str, errors: list[dict[str, Any]] | None = None) -> None:
        lines = [f"{e.get('field')}: {e.get('message')}; {e.get('remedy')}" for e in errors or []]
        super().__init__(". ".join([detail, *lines]))
        self.status, self.detail, self.errors = status, detail, errors or []


class Gone(AMError):
    """This master is no more: the job has ended, or another attempt has taken its place. The program should end."""


class Transport:
    """``patience_s``: how long a call goes on trying."""

    def __init__(self, url: str, token: str, ca_file: str, patience_s: float) -> None:
        if not url.startswith(("http://", "https://")):
            raise AMError(0, f"not an address of a control plane: {url!r}")
        self._base = url.rstrip("/") + "/api/v1/am/"
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self.patience_s = patience_s
        handlers: list[Any] = [urllib.request.ProxyHandler({})]
        if url.startswith("https:"):
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca_file or None)))
        self._opener = urllib.request.build_opener(*handlers)

    def call(self, method: str, path: str, body: Any = None, *, timeout_s: float = TIMEOUT_S, done: int = 0) -> Any:
        """JSON in and out. ``done``: a status that, after a try whose answer was lost, says that it had worked."""
        data = self._insist(method, path, None if body is None else json.dumps(body).encode(), timeout_s, done)
        return json.loads(data) if data else None

    def fetch(self, path: str) -> bytes:
        return self._insist("GET", path, None, 60.0, 0)

    def _insist(self, method: str, path: str, body: bytes | None, timeout_s: float, done: int) -> bytes:
        until, pause_s, unsure = time.monotonic() + self.patience_s, FIRST_PAUSE_S, False
        while True:
            try:
                return self._once(method, path, body, timeout_s)
            except AMError as error:
                if done and unsure and error.status == done:
                    return b""
                unsure |= error.status == 0 or error.status >= 500
                asked_s = getattr(error, "retry_after_s", None)
                wait_s = pause_s * random.uniform(0.5, 1.5) if asked_s is None else asked_s
                worth = error.status in (0, 429) or error.status >= 500
                if not worth or time.monotonic() + wait_s > until:
                    raise
            time.sleep(wait_s)
            pause_s = min(LONGEST_PAUSE_S, pause_s * 2)

    def _once(self, method: str, path: str, body: bytes | None, timeout_s: float) -> bytes:
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self._base + path, body, headers, method=method)  # noqa: S310 - as configured
        try:
            with self._opener.open(request, timeout=timeout_s) as answer:
                data: bytes = answer.read()
                return data
        except urllib.error.HTTPError as error:
            raise _refused(error) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise AMError(0, f"the control plane does not answer: {reason}") from None


def _refused(error: urllib.error.HTTPError) -> AMError:
    """The problem document of an answer as an exception."""
    try:
        problem = json.loads(error.read())
        detail, errors = str(problem.get("detail") or problem.get("title")), problem.get("errors") or []
    except (OSError, ValueError, AttributeError):
        detail, errors = f"the control plane answered {error.code}", []
    kind = Gone if error.code in (401, 403) else AMError
    found = kind(error.code, detail, errors)
    asked = error.headers.get("Retry-After", "")
    found.retry_after_s = float(asked) if asked.isdigit() else None  # type: ignore[attr-defined]
    return found
