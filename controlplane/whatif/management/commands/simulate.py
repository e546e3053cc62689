"""``manage.py simulate``: policies over a workload, compared; without any store."""

import sys
import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Simulate policies over a log, a trace or a generated workload, and compare them."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        from controlplane.whatif import offline

        parser.add_argument("--run", type=int, help="a simulation's number: what workers start for web's questions")
        parser.add_argument("--token", type=uuid.UUID, help="with --run")
        offline.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["run"] is not None:
            self._run(options["run"], options["token"])
            return
        from controlplane.whatif import offline
        from controlplane.whatif.offlinecluster import Wrong

        try:
            offline.main(options)
        except Wrong as problem:
            raise CommandError(str(problem)) from None

    def _run(self, number: int, token: uuid.UUID | None) -> None:
        from controlplane.statestore.actions.simulationruns import Claim

        if token is None:
            raise CommandError("--token: is missing; workers start this form by themselves, ask with hydractl instead")
        from controlplane.whatif import runner

        runner.run(Claim(number, token), sys.stdin.fileno())
