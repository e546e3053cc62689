"""Accounts from the command line: made, changed, closed, and errors that say what to do."""

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client as Browser
from knox.models import AuthToken

from controlplane.accounts.models import User
from controlplane.statestore.actions.accounts import new_token
from controlplane.statestore.actions.audit import SYSTEM

pytestmark = pytest.mark.django_db
SECRET, OTHER = "correct horse 7", "battery staple 8"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    def command(*words: str, stdin: str = "") -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        out = io.StringIO()
        call_command("account", *words, stdout=out)
        return out.getvalue().strip()

    return command


def signs_in(name: str, password: str) -> bool:
    return Browser().login(username=name, password=password)


def test_an_account_is_made_changed_closed_and_opened(run: Any) -> None:
    assert run("ada", "--create", "--role", "operator", "--password-stdin", stdin=SECRET + "\n") == "ada: operator"
    assert signs_in("ada", SECRET)
    with pytest.raises(CommandError, match="last operator"):
        run("ada", "--role", "viewer")
    run("eve", "--create", "--role", "operator", "--password-stdin", stdin=SECRET + "\n")
    assert run("ada", "--role", "viewer") == run("ada") == "ada: viewer"
    new_token(SYSTEM, User.objects.get(username="ada"))
    run("ada", "--password-stdin", stdin=OTHER)
    assert signs_in("ada", OTHER) and not signs_in("ada", SECRET)
    assert not AuthToken.objects.exists()
    assert run("ada", "--close") == "ada: viewer, closed"
    assert not signs_in("ada", OTHER)
    assert run("ada", "--open") == "ada: viewer"
    assert signs_in("ada", OTHER)


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        (["bob"], "", "there is no account bob; make it with --create"),
        (["bob", "--create"], "", "no terminal to ask for the password"),
        (["bob", "--create", "--password-stdin"], "123", "too short"),
        (["b b!", "--create", "--password-stdin"], SECRET, "valid username"),
        (["bob", "--create", "--role", "king"], "", "invalid choice: 'king'"),
        (["eve", "--create", "--password-stdin"], SECRET, "there is an account eve already"),
        (["eve", "--password-stdin"], "123", "password: This password is too short"),
        (["eve", "--close", "--open"], "", "not allowed with"),
    ],
)
def test_mistakes_are_told_and_change_nothing(run: Any, words: list[str], stdin: str, said: str) -> None:
    run("eve", "--create", "--password-stdin", stdin=OTHER)
    with pytest.raises(CommandError, match=said):
        run(*words, stdin=stdin)
    assert User.objects.count() == 1 and signs_in("eve", OTHER)
