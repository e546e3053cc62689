"""``manage.py worker``: leads sub-clusters and carries out duties."""

import socket
import sys
import warnings
from argparse import ArgumentParser
from typing import Any

from celery.exceptions import SecurityWarning
from django.core.management.base import BaseCommand, CommandError

DUTY_THREADS = 3  # offers, housekeeping, pulse
THREADS_MAX = 64


class Command(BaseCommand):
    help = "Work on queues: rm.<sub-cluster> to lead it, control for the cluster's periodic duties."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--name", default=f"worker-{socket.gethostname()}", help="unique among live workers")
        parser.add_argument("--queues", required=True, help="separated by commas, as rm.east,rm.west,control")

    def handle(self, *args: Any, **options: Any) -> None:
        from controlplane import worker

        queues = [queue for queue in options["queues"].split(",") if queue]
        unknown = [q for q in queues if q != "control" and not q.startswith("rm.")]
        if unknown or not queues:
            raise CommandError(f"--queues: {unknown or 'none'} named; use control and rm.<sub-cluster>")
        warnings.filterwarnings("ignore", category=SecurityWarning)  # it warns of pickle and root; we take only JSON
        sys.exit(worker.run(options["name"], queues, min(THREADS_MAX, len(queues) + DUTY_THREADS)))
