"""Whether the sessions of this process's sockets still hold: a socket outlives the request that opened it.

All of them are looked at together, so that a thousand tabs cost two queries.
"""

import asyncio
from collections.abc import Set
from typing import Protocol

import structlog
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import Error as StoreError
from django.db import connection
from django.utils.crypto import constant_time_compare

from controlplane import clock
from controlplane.accounts.models import User

from .members import Members
from .reader import Reader

log = structlog.get_logger(__name__)

CHECK_S = 10.0
SignIn = tuple[str, int]  # key of a session, number of the account


class SignedIn(Protocol):
    sign_in: SignIn

    async def signed_out(self) -> None: ...


class Sessions(Members[SignedIn]):
    """Tells sockets that they are signed out: elsewhere, by a changed password or with their account."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self._reader = reader

    async def _serve(self) -> None:
        while True:
            await asyncio.sleep(CHECK_S)
            sockets = tuple(self._members)
            try:
                valid = await self._reader.run(still_valid, {who.sign_in for who in sockets})
            except StoreError:
                continue  # nothing can be said while the store is away, and nothing can be read either
            except Exception:
                log.exception("sessions cannot be checked")
                continue
            gone = [who.signed_out() for who in sockets if who.sign_in not in valid]
            await asyncio.gather(*gone, return_exceptions=True)


def still_valid(sign_ins: Set[SignIn]) -> set[SignIn]:
    """Those of them that hold. Two queries; runs in a thread. Raises ``django.db.Error`` when the store is away."""
    keys, numbers = zip(*sign_ins, strict=True)
    try:
        known = Session.objects.filter(session_key__in=keys, expire_date__gt=clock.now())
        sessions = {row.session_key: row.get_decoded() for row in known}
        users = User.objects.filter(is_active=True).in_bulk(numbers)
    except StoreError:
        connection.close()
        raise
    return {(key, number) for key, number in sign_ins if _holds(sessions.get(key, {}), users.get(number))}


def _holds(session: dict[str, str], user: User | None) -> bool:
    if user is None or str(session.get(SESSION_KEY)) != str(user.pk):
        return False
    return constant_time_compare(session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())
