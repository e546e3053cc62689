"""The door of the tracking proxy: who is signed in gets a ticket and goes on with it."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_safe

from controlplane.accounts.models import User
from controlplane.router.proxy import PREFIX, access, address, pages, tickets
from controlplane.statestore.queries.jobs import endpoints


@require_safe
def enter(request: HttpRequest, **_: object) -> HttpResponse:
    """Redirect to the same address with a ticket, or from a job's to the page that its master has named.

    Programs with a token need no ticket and do not come here.
    """
    raw = getattr(request, "scope", {}).get("raw_path") or request.path.encode()  # as the browser spelt it
    if job_id := address.job_of(raw.decode("latin1")):
        return _tracked(request, job_id)
    wanted = address.parse(raw.decode("latin1"))
    if wanted is None or wanted.ticket:
        return said(access.ProxyRefusal(404, "There is no such page", "The address is /proxy/<job>/<endpoint>/."))
    user = request.user
    if not isinstance(user, User):
        return said(access.NOT_SIGNED_IN, f"/login?next={wanted.home}/", "Sign in")
    refused = access.may_enter(user, wanted.job_id)
    if refused:
        return said(refused, f"/jobs/{wanted.job_id}", f"Job {wanted.job_id}")
    ticket = tickets.issue(user, wanted.job_id, wanted.endpoint)
    query = f"?{request.META['QUERY_STRING']}" if request.META.get("QUERY_STRING") else ""
    answer = HttpResponseRedirect(f"{wanted.home}/{ticket}{wanted.path or '/'}{query}")
    answer["Cache-Control"] = "no-store"
    answer["Referrer-Policy"] = "no-referrer"
    return answer


def _tracked(request: HttpRequest, job_id: int) -> HttpResponse:
    """To the application's own page, where who may enter gets a ticket."""
    user = request.user
    if not isinstance(user, User):
        return said(access.NOT_SIGNED_IN, f"/login?next={PREFIX}{job_id}/", "Sign in")
    refused = access.may_enter(user, job_id)
    page = None if refused else endpoints.tracking(job_id)
    if refused or page is None:
        return said(refused or pages.no_page(job_id), f"/jobs/{job_id}", f"Job {job_id}")
    answer = HttpResponseRedirect(page)
    answer["Cache-Control"] = "no-store"
    return answer


def said(refusal: access.ProxyRefusal, href: str = "", words: str = "") -> HttpResponse:
    return HttpResponse(pages.page(refusal, href, words), status=refusal.status, headers=pages.HEADERS)
