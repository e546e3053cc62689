"""Whether a socket's session still holds. A socket outlives the request that opened it."""

from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.db import close_old_connections
from django.utils.crypto import constant_time_compare

from controlplane.accounts.models import User


def still_valid(scope: dict[str, Any], user_id: int) -> bool:
    """Read session and account anew. Runs in a thread; raises ``django.db.Error`` when the store does not answer."""
    close_old_connections()
    try:
        engine = import_module(settings.SESSION_ENGINE)
        session = engine.SessionStore(scope["session"].session_key)
        if str(session.get(SESSION_KEY)) != str(user_id):
            return False
        user = User.objects.filter(pk=user_id, is_active=True).first()
        return user is not None and constant_time_compare(
            session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash()
        )
    finally:
        close_old_connections()
