"""``manage.py policy``: put a document in force as the system, without anybody's approval. For emergencies."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import yaml
from django.core.management.base import BaseCommand, CommandError

from contract import yamltext
from controlplane.policy import versions
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.errors import Refused


class Command(BaseCommand):
    help = "Put a policy document in force as the system: where those who could approve a change are gone."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("-f", "--file", required=True, help="YAML or JSON; - is stdin")
        parser.add_argument("-m", "--message", required=True, help="why; the version and the audit keep it")
        force = "remove queues although jobs live in them, cancel overrides that no longer fit, and give a rollout up"
        parser.add_argument("--force", action="store_true", help=force)

    def handle(self, *args: Any, **options: Any) -> None:
        name, message = options["file"], options["message"].strip()
        if not message:
            raise CommandError("the message is empty: say why")
        try:
            document = yamltext.load(sys.stdin.read() if name == "-" else Path(name).read_text())
            made = versions.publish(SYSTEM, document, message, force=options["force"])
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise CommandError(f"{name} cannot be read: {error}") from None
        except Refused as error:
            lines = [f"{e.field}: {e.message}; {e.remedy}" for e in error.errors] or [error.detail]
            raise CommandError("\n".join(lines)) from None
        self.stdout.write(f"version {made.pk} is in force")
