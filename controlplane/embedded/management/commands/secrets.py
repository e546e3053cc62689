"""``manage.py secrets``: seal what accounts have put anew, after another key has become the first."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.statestore.actions import secrets


class Command(BaseCommand):
    help = "Seal all secrets under the first of HYDRA_SECRETS_KEYS, so that the others can go."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        found = secrets.reseal()
        self.stdout.write(f"{found.done} secrets are sealed under the first key")
        for owner, name in found.unreadable:
            self.stderr.write(
                f"secret {name} of account {owner} opens with none of the keys; its owner can put it again"
            )
        if found.unreadable:
            sys.exit(1)  # whoever takes a key away by a script is to stop here
