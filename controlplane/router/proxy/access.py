"""Who may reach which endpoint, from the StateStore. Synchronous: runs in a thread of the proxy."""

from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace

import rules
from django.conf import settings
from django.contrib.auth import get_user
from knox.auth import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed

from controlplane.accounts.authentication import HashedTokenAuthentication
from controlplane.accounts.models import User
from controlplane.router.proxy import tickets
from controlplane.router.proxy.address import Address
from controlplane.statestore.queries.jobs import endpoints, listing
from controlplane.statestore.queries.jobs.endpoints import EndpointTarget
from wire.states import terminal


@dataclass(frozen=True, slots=True)
class ProxyRefusal:
    """Why a request goes nowhere, in words for whoever asked."""

    status: int
    title: str
    detail: str


@dataclass(frozen=True, slots=True)
class Admission:
    """Leave to pass requests on to ``target``, a page of ``tenant``'s, in the name of ``user``."""

    user: str
    target: EndpointTarget
    tenant: int = 0


NOT_SIGNED_IN = ProxyRefusal(401, "Sign in first", "This page belongs to a job; sign in to see it.")
OUTDATED = ProxyRefusal(401, "This page's address is no longer valid", "Open it again from the page of its job.")


def by_session(key: str | None) -> User | None:
    """The account signed in with this session cookie."""
    if not key:
        return None
    session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    user = get_user(SimpleNamespace(session=session))
    return user if isinstance(user, User) and user.is_active else None


def by_token(header: str) -> User | None:
    """The account whose API token an ``Authorization`` header carries."""
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "token":
        return None
    checker: TokenAuthentication = HashedTokenAuthentication()
    try:
        user, _ = checker.authenticate_credentials(token.strip().encode())
    except AuthenticationFailed:
        return None
    return user if isinstance(user, User) else None


def admit_token(address: Address, header: str) -> Admission | ProxyRefusal:
    user = by_token(header)
    return admit(user, address) if user else NOT_SIGNED_IN


def admit_ticket(address: Address) -> Admission | ProxyRefusal:
    ticket = tickets.read(address.ticket, address.job_id, address.endpoint)
    user = User.objects.filter(pk=ticket.user_id, is_active=True).first() if ticket else None
    if ticket is None or user is None or not ticket.fits(user):
        return OUTDATED
    return admit(user, address)


def may_enter(user: User, job_id: int) -> ProxyRefusal | None:
    """Who may change a job may use its pages: they act in its owner's name. None: the account may."""
    job = listing.find(user, job_id)
    if job is None:
        return ProxyRefusal(404, "There is no such job", f"Job {job_id} does not exist, or you may not see it.")
    if not rules.has_perm("jobs.change", user, job):
        detail = f"You may see job {job_id}, but its pages are for its owner, admins of its queue and operators."
        return ProxyRefusal(403, "These pages are not for you", detail)
    if terminal(job.state):
        return ProxyRefusal(502, "The job has ended", f"Job {job_id} has ended, so nothing of it serves any more.")
    return None


def admit(user: User, address: Address) -> Admission | ProxyRefusal:
    """Whether this account may reach the endpoint now, and where that is."""
    refused = may_enter(user, address.job_id)
    if refused:
        return refused
    target = endpoints.target(address.job_id, address.endpoint)
    if target is None:
        detail = (
            f"No running task of job {address.job_id} serves {address.endpoint!r} at the moment; see the job's page."
        )
        return ProxyRefusal(502, "Nobody serves this", detail)
    return Admission(user.username, target, target.owner_id)
