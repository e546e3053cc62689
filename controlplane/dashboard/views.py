"""The page: one HTML file for every address that the front end routes by itself."""

import secrets
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

INDEX = Path(settings.BASE_DIR) / "frontend" / "dist" / "index.html"
NONCE = "__CSP_NONCE__"  # in index.html, where the number of this answer belongs

# Scripts come from this site only and never from within the page. Style elements need this answer's number.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)


@lru_cache(maxsize=2)
def _file(path: Path, modified_ns: int) -> str:
    return path.read_text(encoding="utf-8")


def _index() -> str:
    """The bundle's page, read once per change of it."""
    try:
        return _file(INDEX, INDEX.stat().st_mtime_ns)
    except FileNotFoundError:
        raise Http404("The front end's bundle is missing: run `npm ci && npm run build` in frontend/") from None


@require_safe
@ensure_csrf_cookie
def page(request: HttpRequest, **_: object) -> HttpResponse:
    """The front end. Never cached: it names the current bundle and carries the nonce of its policy."""
    nonce = secrets.token_urlsafe(16)
    response = HttpResponse(_index().replace(NONCE, nonce), content_type="text/html; charset=utf-8")
    response["Content-Security-Policy"] = POLICY.format(nonce=nonce)
    response["Cache-Control"] = "no-store"
    response["Cross-Origin-Opener-Policy"] = "same-origin"
    return response


@require_safe
def unknown(request: HttpRequest) -> HttpResponse:
    """An address the front end does not have: its page says so, and so does the status."""
    response = page(request)
    response.status_code = 404
    return response
