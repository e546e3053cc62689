"""``manage.py account``: make an account, or change its role or password, close it or open it again."""

import sys
from argparse import ArgumentParser
from getpass import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.accounts.models import Role, User
from controlplane.statestore.actions import accounts
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.errors import Refused


class Command(BaseCommand):
    help = "Make an account, or change one that exists. Without options: show it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--role", choices=Role.values, help="of a new one: tenant, if not given")
        parser.add_argument("--create", action="store_true", help="make it; asks for a password")
        parser.add_argument("--password", action="store_true", help="another password; its tokens and sessions end")
        parser.add_argument("--password-stdin", action="store_true", help="read the password from stdin")
        state = parser.add_mutually_exclusive_group()
        state.add_argument("--close", action="store_true", help="nobody can use it any more; its tokens end")
        state.add_argument("--open", action="store_true", help="after --close")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = self._made(options) if options["create"] else self._changed(options)
        except Refused as error:
            lines = [f"{e.field}: {e.message} {e.remedy}" for e in error.errors] or [error.detail]
            raise CommandError("\n".join(lines)) from None
        self.stdout.write(f"{user.username}: {user.role}{'' if user.is_active else ', closed'}")

    def _made(self, options: dict[str, Any]) -> User:
        if User.objects.filter(username=options["name"]).exists():
            raise CommandError(f"there is an account {options['name']} already; change it without --create")
        role = Role(options["role"] or Role.TENANT)
        return accounts.create(SYSTEM, options["name"], self._password(options), role)

    def _changed(self, options: dict[str, Any]) -> User:
        user = User.objects.filter(username=options["name"]).first()
        if user is None:
            raise CommandError(f"there is no account {options['name']}; make it with --create --role ROLE")
        if options["role"] and options["role"] != user.role:
            accounts.set_role(SYSTEM, user, Role(options["role"]))
        if options["password"] or options["password_stdin"]:
            accounts.set_password(SYSTEM, user, self._password(options))
        if options["close"] or options["open"]:
            accounts.set_active(SYSTEM, user, bool(options["open"]))
        return user

    def _password(self, options: dict[str, Any]) -> str:
        if options["password_stdin"]:
            return sys.stdin.readline().rstrip("\r\n")
        if not sys.stdin.isatty():
            raise CommandError("there is no terminal to ask for the password; give it with --password-stdin")
        first = getpass(f"Password of {options['name']}: ")
        if getpass("Again: ") != first:
            raise CommandError("the two passwords differ; nothing is changed")
        return first
