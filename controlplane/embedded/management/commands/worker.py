"""``manage.py worker``: leads sub-clusters and carries out duties."""

import socket
import sys
import warnings
from argparse import ArgumentParser
from typing import Any

from celery.exceptions import SecurityWarning
from django.core.management.base import BaseCommand, CommandError

THREADS_MAX = 64


class Command(BaseCommand):
    help = "Work on queues: rm.<sub-cluster> to lead it, control for the cluster's periodic duties."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--name", default=f"worker-{socket.gethostname()}", help="unique among live workers")
        parser.add_argument("--queues", default="", help="separated by commas, as rm.east,rm.west,control")
        parser.add_argument("--all", action="store_true", help="control and every sub-cluster, also those to come")

    def handle(self, *args: Any, **options: Any) -> None:
        from controlplane import worker

        queues = [queue.strip() for queue in options["queues"].split(",") if queue.strip()]
        unknown = [q for q in queues if q != "control" and not q.startswith("rm.")]
        every = options["all"]
        if unknown or bool(queues) == every:
            raise CommandError(f"--queues: {unknown or 'none'} named; use control and rm.<sub-cluster>, or --all")
        warnings.filterwarnings("ignore", category=SecurityWarning)  # it warns of pickle and root; we take only JSON
        threads = THREADS_MAX if every else min(THREADS_MAX, len(queues) + worker.DUTY_THREADS)
        sys.exit(worker.run(options["name"], ["control"] if every else queues, threads, every))
