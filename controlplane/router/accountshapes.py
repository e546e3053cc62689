"""Requests and answers about accounts, their tokens, and tokens with which others join."""

import datetime as dt
from typing import Literal

from pydantic import ConfigDict, Field

from controlplane.router import commonshapes as words
from controlplane.router.jobspec import Whole
from controlplane.router.shapes import PageOf, QueueRight, Shape

YEAR_S = 366 * 86400
TOKEN_VALID_S = 90 * 86400
PLAIN = r"^[^\x00]+$"


class AccountInfo(Shape):
    """``queues``: what it was granted itself; the policy may name it as well. ``tokens``: that are valid now."""

    id: int
    username: str
    role: words.Role
    active: bool
    created_at: dt.datetime
    last_login_at: dt.datetime | None
    tokens: int
    token_used_at: dt.datetime | None
    queues: list[QueueRight]


class AccountPage(PageOf):
    results: list[AccountInfo]


class AccountRequest(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)

    username: str = Field(min_length=1, max_length=150, pattern=PLAIN)
    password: str = Field(min_length=1, max_length=1024, pattern=PLAIN)
    role: words.Role = "tenant"


class RoleRequest(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)

    role: words.Role


class PasswordReset(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)

    password: str = Field(min_length=1, max_length=1024, pattern=PLAIN)


class PasswordChange(PasswordReset):
    """``current``: as it is now."""

    current: str = Field(max_length=1024, pattern=PLAIN)


class TokenInfo(Shape):
    """``key``: how its text begins. ``name``: empty for one that a log-in made. ``current``: this request's."""

    key: str
    name: str
    created_at: dt.datetime
    expires_at: dt.datetime | None
    last_used_at: dt.datetime | None
    current: bool


class TokenList(PageOf):
    results: list[TokenInfo]


class TokenRequest(Shape):
    """``name``: what it is for."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(min_length=1, max_length=64, pattern=PLAIN)
    valid_s: Whole = Field(default=TOKEN_VALID_S, ge=60, le=YEAR_S)


class TokenMade(Shape):
    """``token`` is shown this once."""

    key: str
    name: str
    token: str
    expires_at: dt.datetime | None


class JoinTokenLine(Shape):
    """``kind``: what it registers. ``sub_cluster``: of nodes, or the only name a new one may have; empty for any."""

    kind: Literal["node", "sub_cluster"]
    id: int
    sub_cluster: str
    note: str
    created_at: dt.datetime
    expires_at: dt.datetime | None


class JoinTokenList(PageOf):
    results: list[JoinTokenLine]
