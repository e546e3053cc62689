"""Who pays for a request with his share of the process: known before anything is looked up."""

import hashlib
from collections import OrderedDict
from collections.abc import Hashable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from django.conf import settings

from controlplane.accounts.models import User
from controlplane.accounts.throttles import address_of
from controlplane.router.masterauth import MasterPrincipal

MOST = 10_000  # tokens and sessions that are remembered


class Payers:
    """Accounts by the tokens and sessions that were theirs; a request with another is paid for by its address."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, int] = OrderedDict()

    def of(self, scope: MutableMapping[str, Any]) -> Hashable:
        """An account's id, or an address."""
        shown = _shown(scope)
        if shown in self._known:
            self._known.move_to_end(shown)
            return self._known[shown]
        return address_of({"REMOTE_ADDR": (scope.get("client") or ("",))[0]})

    def learn(self, scope: MutableMapping[str, Any], user: object) -> Hashable:
        """Who has turned out to be behind this request, and pays for it; ``user`` as authentication has left it."""
        account = user.pk if isinstance(user, User) else user.owner_id if isinstance(user, MasterPrincipal) else None
        shown = _shown(scope)
        if account is None or not shown:
            return self.of(scope)
        self._known[shown] = account
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        return account


def _shown(scope: MutableMapping[str, Any]) -> bytes:
    """A digest of the token, or else of the session, that comes with the request; nothing without either."""
    headers = dict(scope["headers"])
    shown = headers.get(b"authorization", b"")
    if not shown and b"cookie" in headers:
        try:
            cookies = SimpleCookie(headers[b"cookie"].decode("latin1"))
        except CookieError:
            return b""
        shown = cookies[settings.SESSION_COOKIE_NAME].value.encode() if settings.SESSION_COOKIE_NAME in cookies else b""
    return hashlib.blake2b(shown, digest_size=16).digest() if shown else b""


payers = Payers()
