"""Who pays for a request with his share of the process: known before anything is looked up."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import LazyObject

from controlplane.accounts.models import User
from controlplane.accounts.throttles import address_of
from controlplane.accounts.turns import turns
from controlplane.router.masterauth import MasterPrincipal
from controlplane.router.nodeauth import NodePrincipal
from controlplane.router.threads import Threads, ended

T = TypeVar("T")
CROWDED = "too many requests of this account wait already; send fewer at once"
MOST = 10_000  # tokens and sessions that are remembered


class Payers:
    """Accounts by the tokens and sessions that were theirs; a request with another is paid for by its address."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, int] = OrderedDict()

    def of(self, scope: MutableMapping[str, Any]) -> Hashable:
        """An account's id, or an address; of a request that nobody has made an object of yet."""
        headers = dict(scope["headers"])
        shown = _shown(headers.get(b"authorization", b""), headers.get(b"cookie", b""))
        return self._of(shown, {"REMOTE_ADDR": (scope.get("client") or ("",))[0]})

    def of_request(self, request: HttpRequest) -> Hashable:
        """The same."""
        return self._of(_shown_by(request), request.META)

    def _of(self, shown: bytes, meta: Mapping[str, Any]) -> Hashable:
        if shown in self._known:
            self._known.move_to_end(shown)
            return self._known[shown]
        return address_of(meta)

    def learn(self, request: HttpRequest, account: int | None = None) -> Hashable:
        """Who has turned out to be behind this request, and pays for it.

        account: where that was found out elsewhere; else as authentication has left it.
        """
        account = account or account_behind(request)
        shown = _shown_by(request)
        if account is None or not shown:
            return self._of(shown, request.META)
        self._known[shown] = account
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        return account


def account_behind(request: HttpRequest) -> int | None:
    """Whose the request is, or the master's that sent it; None of nobody's, and where it was not looked up."""
    user = request.__dict__.get("user")
    if isinstance(user, LazyObject):
        return None  # whom a session belongs to was not looked up, and is not for this
    return user.pk if isinstance(user, User) else user.owner_id if isinstance(user, MasterPrincipal) else None


def party_of(user: User | MasterPrincipal | NodePrincipal) -> Hashable:
    """Somebody who is known: an account by its id, a master as its owner, a node as itself."""
    if isinstance(user, NodePrincipal):
        return "node", user.node_id
    return user.owner_id if isinstance(user, MasterPrincipal) else user.pk


def _shown_by(request: HttpRequest) -> bytes:
    headers = (str(request.META.get(name, "")) for name in ("HTTP_AUTHORIZATION", "HTTP_COOKIE"))
    return _shown(*(header.encode("latin1", "replace") for header in headers))


def _shown(authorization: bytes, cookie: bytes) -> bytes:
    """A digest of the token, or else of the session, that comes with a request; nothing without either."""
    shown = authorization
    if not shown and cookie:
        try:
            cookies = SimpleCookie(cookie.decode("latin1"))
        except CookieError:
            return b""
        shown = cookies[settings.SESSION_COOKIE_NAME].value.encode() if settings.SESSION_COOKIE_NAME in cookies else b""
    return hashlib.blake2b(shown, digest_size=16).digest() if shown else b""


payers = Payers()


async def in_turn(
    threads: Threads,
    request: HttpRequest,
    call: Callable[..., T],
    *args: Any,
    whose: Callable[[T], int | None] = lambda answer: None,
) -> T:
    """What a call in a thread answers, when it is the turn of whoever sent the request, and paid for by him.

    whose: the account behind the request, where the answer tells and authentication does not. ``Crowded`` when too
    many of that account's wait.
    """
    async with turns.turn(payers.of_request(request)) as turn:
        answer = await ended(threads.start(call, *args, pay=turn.pay))
        turn.who = payers.learn(request, whose(answer))
        return answer
