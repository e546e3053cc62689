"""Sessions of browsers, that begin and end by the database's clock: web processes on several hosts agree on both."""

import datetime as dt
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session

from controlplane import clock


class SessionStore(db.SessionStore):
    """Django's, but for what time it is."""

    def get_expiry_age(self, **known: Any) -> int:
        age: int = super().get_expiry_age(**{"modification": clock.now()} | known)
        return age

    def get_expiry_date(self, **known: Any) -> dt.datetime:
        until: dt.datetime = super().get_expiry_date(**{"modification": clock.now()} | known)
        return until

    def _get_session_from_db(self) -> Session | None:
        found: Session | None = Session.objects.filter(
            session_key=self.session_key, expire_date__gt=clock.now()
        ).first()
        if found is None:
            self._session_key: str | None = None
        return found
