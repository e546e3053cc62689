"""What the proxy itself says: short pages for people, with the status that programs read."""

from django.utils.html import format_html

from controlplane.router.proxy.access import ProxyRefusal

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "access-control-allow-origin": "*",  # a sandboxed page may read why it gets nothing
}
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} · Hydra</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:34em;margin:15vh auto;padding:0 1em;color-scheme:light dark}}
h1{{font-size:1.4em;margin:0 0 .4em}}p{{margin:.4em 0}}small{{opacity:.7}}</style>
<h1>{title}</h1><p>{detail}</p><p>{link}</p><p><small>Hydra, status {status}</small></p>
"""


def page(refusal: ProxyRefusal, href: str = "", words: str = "") -> bytes:
    """A refusal as a page; with ``href`` a link to where it goes on."""
    link = format_html('<a href="{}" rel="noreferrer">{}</a>', href, words) if href else ""
    return format_html(_PAGE, title=refusal.title, detail=refusal.detail, status=refusal.status, link=link).encode()


def no_page(job_id: int) -> ProxyRefusal:
    detail = f"Job {job_id} has no application master that has named a page; what it serves is on the job's page."
    return ProxyRefusal(404, "It has no page", detail)


def gone(endpoint: str, job_id: int, why: str) -> ProxyRefusal:
    detail = f"The task that serves {endpoint!r} of job {job_id} cannot be reached ({why})."
    return ProxyRefusal(502, "It does not answer", f"{detail} It may be starting, or have just ended.")


def slow(endpoint: str, job_id: int, limit_s: float) -> ProxyRefusal:
    detail = f"The task that serves {endpoint!r} of job {job_id} took the request and gave no answer for {limit_s:g} s."
    return ProxyRefusal(504, "It takes too long", detail)


def broken(endpoint: str, job_id: int, why: str) -> ProxyRefusal:
    detail = (
        f"What the task that serves {endpoint!r} of job {job_id} answered is not an answer that can be shown ({why})."
    )
    return ProxyRefusal(502, "It answers nonsense", detail)


def busy(endpoint: str, job_id: int) -> ProxyRefusal:
    detail = f"{endpoint!r} of job {job_id} has as many requests open as this server keeps for one endpoint. Try again."
    return ProxyRefusal(503, "Too much at once", detail)


def elsewhere(where: str) -> ProxyRefusal:
    return ProxyRefusal(
        502, "This page leads elsewhere", f"The application wants to send you to another site: {where[:500]}"
    )
