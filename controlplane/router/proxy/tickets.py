"""Tickets: leave of one account to use one endpoint of one job, as a segment of the path.

A ticket is signed and ends after ``LIFE_S``, with the account's password, and
when its rights do, which are looked at again and again. The application whose
page it opens can read it there, and reaches with it nothing but itself.
"""

from dataclasses import dataclass

from django.core import signing
from django.utils.crypto import constant_time_compare, salted_hmac

from controlplane import clock
from controlplane.accounts.models import User

MARK = "~"
LIFE_S = 12 * 3600
SALT = "hydra.proxy"
MAX_LENGTH = 512


@dataclass(frozen=True, slots=True)
class Ticket:
    user_id: int
    job_id: int
    endpoint: str
    proof: str  # of the account's password as it was
    ends_s: float  # since 1970

    def fits(self, user: User) -> bool:
        return user.is_active and constant_time_compare(self.proof, proof(user))


def proof(user: User) -> str:
    return salted_hmac(SALT, user.get_session_auth_hash()).hexdigest()[:16]


def issue(user: User, job_id: int, endpoint: str) -> str:
    """The path segment."""
    ends_s = round(clock.unix()) + LIFE_S
    return MARK + signing.dumps([user.pk, job_id, endpoint, proof(user), ends_s], salt=SALT)


def read(segment: str, job_id: int, endpoint: str) -> Ticket | None:
    """A ticket for just this endpoint; None when it is forged, too old or another's."""
    if not segment.startswith(MARK) or len(segment) > MAX_LENGTH:
        return None
    try:
        ticket = Ticket(*signing.loads(segment[len(MARK) :], salt=SALT))
    except (signing.BadSignature, TypeError, ValueError):
        return None
    fits = (ticket.job_id, ticket.endpoint) == (job_id, endpoint)
    return ticket if fits and clock.unix() < ticket.ends_s else None
