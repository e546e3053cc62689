"""The front end: one page, whose script decides by the address what it shows."""

import secrets
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.views.decorators.http import require_safe

from controlplane.router.problems import plain

INDEX = Path(settings.BASE_DIR) / "frontend" / "dist" / "index.html"
NONCE = "__CSP_NONCE__"  # where the bundle wants the nonce of this answer
POLICY = (
    "default-src 'self'; style-src 'self' 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self' ws: wss:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


@lru_cache(maxsize=2)
def _text(changed_ns: int) -> str:
    return INDEX.read_text()


@require_safe
def front_end(request: HttpRequest) -> HttpResponse:
    """The page, never cached by browsers, so that a new bundle is seen at once. Sets the CSRF cookie."""
    try:
        page = _text(INDEX.stat().st_mtime_ns)
    except OSError:
        return plain(404, "the front end's bundle is not installed; the API is at /api/v1/docs")
    get_token(request)
    nonce = secrets.token_urlsafe(16)
    response = HttpResponse(page.replace(NONCE, nonce))
    response["Cache-Control"] = "no-cache"
    response["Content-Security-Policy"] = POLICY.format(nonce=nonce)
    return response
