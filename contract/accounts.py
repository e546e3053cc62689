"""Accounts, signing in, tokens of people, and tokens with which nodes and sub-clusters join."""

import datetime as dt
from typing import Annotated

from pydantic import Field

from contract import words
from contract.base import ALL_SAID, Answer, Page, Request, one_of
from contract.fields import NO_NUL, SOME, Whole


class QueueGrant(Answer):
    path: str
    level: words.Level


class AccountQueue(QueueGrant):
    """``source``: ``grant`` is the account's own, ``policy`` names it or its role in the document in force."""

    model_config = ALL_SAID

    source: Annotated[str, one_of("grant", "policy")] = "grant"


class Me(Answer):
    """``email``: where mail of your jobs goes, as an operator set it; "" for nowhere."""

    model_config = ALL_SAID

    id: int
    username: str
    role: words.Role
    queues: list[QueueGrant]
    email: str = ""


class LoginRequest(Request):
    username: str = Field(max_length=150, pattern=SOME)
    password: str = Field(max_length=1024, pattern=SOME)


class Login(Answer):
    token: str
    expiry: dt.datetime | None
    user: Me


class Csrf(Answer):
    csrf_token: str


YEAR_S = 366 * 86400
TOKEN_VALID_S = 90 * 86400
TOKEN_LEAST_S = 60


class Account(Answer):
    """``queues``: the first few in lists, ``queues_left_out``: how many more. ``tokens``: that are valid now.
    ``email``: where it gets mail of its jobs, if it wants any; "" for nowhere.
    """

    model_config = ALL_SAID

    id: int
    username: str
    role: words.Role
    active: bool
    created_at: dt.datetime
    last_login_at: dt.datetime | None
    tokens: int
    token_used_at: dt.datetime | None
    queues: list[AccountQueue]
    queues_left_out: int = 0
    email: str = ""


class AccountPage(Page):
    results: list[Account]


class AccountRequest(Request):
    username: str = Field(min_length=1, max_length=150, pattern=SOME)
    password: str = Field(min_length=1, max_length=1024, pattern=SOME)
    role: words.Role = "tenant"


class RoleRequest(Request):
    role: words.Role


class EmailRequest(Request):
    """``email``: as its owner reads it; "" for none."""

    email: str = Field(max_length=254, pattern=NO_NUL)


class PasswordReset(Request):
    password: str = Field(min_length=1, max_length=1024, pattern=SOME)


class PasswordChange(PasswordReset):
    """``current``: as it is now."""

    current: str = Field(max_length=1024, pattern=SOME)


class Token(Answer):
    """``key``: how its text begins. ``name``: empty for one that a log-in made. ``current``: this request's."""

    key: str
    name: str
    created_at: dt.datetime
    expires_at: dt.datetime | None
    last_used_at: dt.datetime | None
    current: bool


class TokenList(Page):
    results: list[Token]


class TokenRequest(Request):
    """``name``: what it is for."""

    name: str = Field(min_length=1, max_length=64, pattern=SOME)
    valid_s: Whole = Field(default=TOKEN_VALID_S, ge=TOKEN_LEAST_S, le=YEAR_S)


class NewToken(Answer):
    """``token`` is shown this once."""

    key: str
    name: str
    token: str
    expires_at: dt.datetime | None


class JoinTokenLine(Answer):
    """``kind``: what it registers. ``sub_cluster``: of nodes, or the only name a new one may have; empty for any.

    ``node``: the only node it registers, and once; empty for any new one.
    """

    kind: Annotated[str, one_of("node", "sub_cluster")]
    id: int
    sub_cluster: str
    node: str
    note: str
    created_at: dt.datetime
    expires_at: dt.datetime | None


class JoinTokenList(Page):
    results: list[JoinTokenLine]
