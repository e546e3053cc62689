"""Calls about accounts, one's own tokens, and the system's parts; a part of ``Client``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from client import answers
from client.transport import Transport
from contract.accounts import Account, JoinTokenLine, NewToken, Token
from contract.secrets import Secret, SecretDeleted
from contract.system import AuditEntry, Component

_ACCOUNTS = "/api/v1/accounts"
_TOKENS = "/api/v1/me/tokens"
_SECRETS = "/api/v1/me/secrets"
_JOIN_TOKENS = "/api/v1/join-tokens"


class AccountCalls:
    _transport: Transport

    def accounts(self, name: str | None = None, role: str | None = None) -> Iterator[Account]:
        """Every account whose name contains ``name``; pages are read as they are needed."""
        params: dict[str, Any] = {"name": name, "role": role, "page_size": 200}
        while True:
            page = self._transport.request("GET", _ACCOUNTS, params=params).json()
            yield from (answers.read(Account, row) for row in page["results"])
            if not page["next"]:
                return
            params |= {"cursor": parse_qs(urlsplit(page["next"]).query)["cursor"][0]}

    def create_account(self, username: str, password: str, role: str = "tenant") -> Account:
        body = {"username": username, "password": password, "role": role}
        return answers.read(Account, self._transport.request("POST", _ACCOUNTS, json=body).json())

    def account(self, username: str) -> Account:
        return answers.read(Account, self._transport.request("GET", _of(username)).json())

    def set_role(self, username: str, role: str) -> Account:
        """Never one's own, nor the last operator's."""
        return self._account_step(username, "role", role=role)

    def set_email(self, username: str, email: str) -> Account:
        """Where the account gets mail of its jobs; "" for nowhere."""
        return self._account_step(username, "email", email=email)

    def close_account(self, username: str) -> Account:
        """Its sessions and tokens end at once; its jobs go on."""
        return self._account_step(username, "close")

    def open_account(self, username: str) -> Account:
        return self._account_step(username, "open")

    def reset_password(self, username: str, password: str) -> Account:
        """Its sessions and tokens end."""
        return self._account_step(username, "password", password=password)

    def sign_out_account(self, username: str) -> Account:
        """End all its sessions and tokens."""
        return self._account_step(username, "sign-out")

    def account_tokens(self, username: str) -> list[Token]:
        """Those of an account that are valid."""
        found = self._transport.request("GET", f"{_of(username)}/tokens").json()["results"]
        return [answers.read(Token, row) for row in found]

    def revoke_account_token(self, username: str, key: str) -> None:
        """That one alone; ``sign_out_account`` ends all."""
        self._transport.request("DELETE", f"{_of(username)}/tokens/{quote(key, safe='')}")

    def _account_step(self, username: str, what: str, **body: Any) -> Account:
        return answers.read(Account, self._transport.request("POST", f"{_of(username)}/{what}", json=body).json())

    def change_password(self, current: str, password: str) -> None:
        """One's own; every token ends, also the one this client uses."""
        self._transport.request("POST", "/api/v1/me/password", json={"current": current, "password": password})

    def tokens(self) -> list[Token]:
        """One's own that are valid."""
        return [answers.read(Token, row) for row in self._transport.request("GET", _TOKENS).json()["results"]]

    def create_token(self, name: str, valid_s: int | None = None) -> NewToken:
        """With the rights of the account; ``valid_s`` None: for 90 days, but not longer than a program's own token."""
        body: dict[str, Any] = {"name": name} | ({} if valid_s is None else {"valid_s": valid_s})
        return answers.read(NewToken, self._transport.request("POST", _TOKENS, json=body).json())

    def revoke_token(self, key: str) -> None:
        self._transport.request("DELETE", f"{_TOKENS}/{quote(key, safe='')}")

    def secrets(self) -> list[Secret]:
        """One's own, by name; never a value."""
        return [answers.read(Secret, row) for row in self._transport.request("GET", _SECRETS).json()["results"]]

    def put_secret(self, name: str, value: str) -> Secret:
        """Keep a value for one's own jobs, instead of what had the name. Tasks that start from now on get it."""
        at = f"{_SECRETS}/{quote(name, safe='')}"
        return answers.read(Secret, self._transport.request("PUT", at, json={"value": value}).json())

    def delete_secret(self, name: str) -> SecretDeleted:
        """Tasks that start later and name it fail: the answer's ``warnings`` have whose."""
        answer = self._transport.request("DELETE", f"{_SECRETS}/{quote(name, safe='')}")
        return answers.read(SecretDeleted, answer.json() if answer.content else {"name": name})  # an older server

    def join_tokens(self) -> list[JoinTokenLine]:
        """Tokens with which nodes and sub-clusters could register now; never their text."""
        rows = self._transport.request("GET", _JOIN_TOKENS).json()["results"]
        return [answers.read(JoinTokenLine, row) for row in rows]

    def revoke_join_token(self, kind: str, number: int) -> None:
        """Nothing registers with it any more; what did stays. kind: ``node`` or ``sub_cluster``."""
        what = "nodes" if kind == "node" else "sub-clusters"
        self._transport.request("DELETE", f"{_JOIN_TOKENS}/{what}/{number}")

    def audit(self, *, action: str = "", target: str = "", actor: str = "") -> Iterator[AuditEntry]:
        """Who changed what, newest first; pages are read as they are needed."""
        params: dict[str, Any] = {"action": action, "target": target, "actor": actor, "page_size": 200}
        params = {name: value for name, value in params.items() if value}
        while True:
            page = self._transport.request("GET", "/api/v1/audit", params=params).json()
            yield from (answers.read(AuditEntry, row) for row in page["results"])
            if not page["next"]:
                return
            params |= {"cursor": parse_qs(urlsplit(page["next"]).query)["cursor"][0]}

    def components(self) -> list[Component]:
        """Every part of the system, and what to do where it does not do its duty."""
        found = self._transport.request("GET", "/api/v1/components").json()["results"]
        return [answers.read(Component, row) for row in found]


def _of(username: str) -> str:
    return f"{_ACCOUNTS}/{quote(username, safe='')}"
