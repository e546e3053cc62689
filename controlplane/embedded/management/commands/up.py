"""``manage.py up``: stores, web, beat, workers and node managers of one host, under one supervisor."""

import os
import signal
import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from controlplane.embedded import cluster, stack
from controlplane.embedded.home import Home, HomeError

NAMES = ("east", "west", "north", "south")


def sub_cluster_names(count: int) -> list[str]:
    if not 1 <= count <= 64:
        raise CommandError(f"--sub-clusters is {count}; use 1 to 64")
    return [NAMES[i] if i < len(NAMES) else f"sub-{i + 1}" for i in range(count)]


class Command(BaseCommand):
    help = "Start everything on this host and watch over it, until Ctrl-C (or in the background with --detach)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--detach", action="store_true", help="return once it is ready; stop it with: down")
        parser.add_argument("--sub-clusters", type=int, default=2)
        parser.add_argument("--nodes", type=int, default=2, help="node managers in each sub-cluster")

    def handle(self, *args: Any, **options: Any) -> None:
        home = Home.from_environment()
        console = Console(stderr=True)
        if pid := home.running():
            console.print(f"A stack already runs in {home.root} (process {pid}). See: manage.py status")
            return
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that a start that is given up leaves nothing
        started = time.monotonic()
        names = sub_cluster_names(options["sub_clusters"])
        try:
            with console.status("starting") as status:
                running = stack.start(home, names, options["nodes"], options["detach"], status.update)
                cluster.wait_until_ready(names, options["nodes"], status.update)
        except HomeError as problem:
            raise CommandError(str(problem)) from None
        except KeyboardInterrupt:
            sys.exit(130)
        console.print(f"ready in {time.monotonic() - started:.1f} s: {running.url}")
        console.print(f"logins are in {home.root / 'secrets.json'}; state: manage.py status; end: manage.py down")
        if not options["detach"]:
            stay(running.pid)


def stay(pid: int) -> None:
    """Become a small process that waits for the stack's end and passes Ctrl-C on."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "controlplane.embedded.attach", str(pid)])
