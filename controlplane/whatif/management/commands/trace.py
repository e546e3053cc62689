"""``manage.py trace``: jobs as a history, recorded here or read from another system's log."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Write jobs as a history: those of a window of the recorded history, or those of a log or trace."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        from controlplane.whatif import exporting

        exporting.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from controlplane.whatif import exporting
        from controlplane.whatif.offlinecluster import Wrong

        try:
            exporting.main(options)
        except Wrong as problem:
            raise CommandError(str(problem)) from None
