"""``manage.py up``: stores, web, beat, workers and node managers of one host, under one supervisor."""

import os
import signal
import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from controlplane.embedded import cluster, shape, stack
from controlplane.embedded.home import Home, HomeError
from controlplane.embedded.plan import StackShape
from wire.counts import counted


class Command(BaseCommand):
    help = "Start everything on this host and watch over it, until Ctrl-C (or in the background with --detach)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--detach", action="store_true", help="return once it is ready; stop it with: down")
        parser.add_argument("--sub-clusters", type=int, help="as last time, if not given; the first time 2")
        parser.add_argument("--nodes", type=int, help="node managers in each sub-cluster; as last time, or 2")

    def handle(self, *args: Any, **options: Any) -> None:
        home = Home.from_environment()
        console = Console(stderr=True)
        if pid := home.running():
            console.print(f"A stack already runs in {home.root} (process {pid}). See: manage.py status")
            return
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that a start that is given up leaves nothing
        started = time.monotonic()
        try:
            asked = shape.wanted(home, options["sub_clusters"], options["nodes"])
            with console.status("starting") as status:
                running = stack.start(home, asked.sub_clusters, asked.nodes, options["detach"], status.update)
                serves = shape.kept(home, asked)
                cluster.wait_until_ready(serves.sub_clusters, serves.nodes, status.update)
        except HomeError as problem:
            raise CommandError(str(problem)) from None
        except KeyboardInterrupt:
            sys.exit(130)
        console.print(f"ready in {time.monotonic() - started:.1f} s: {running.url}")
        console.print(described(asked, serves), highlight=False)
        console.print(f"logins are in {home.root / 'secrets.json'}; state: manage.py status; end: manage.py down")
        if not options["detach"]:
            stay(running.pid)


def described(asked: StackShape, serves: StackShape) -> str:
    """``2 nodes in each of east, west``, and what is not started any more."""
    gone = [name for name in asked.sub_clusters if name not in serves.sub_clusters]
    places = ", ".join(serves.sub_clusters) or "no sub-cluster"
    each = f"{counted(serves.nodes, 'node')} in {'each of ' * (len(serves.sub_clusters) > 1)}{places}"
    return f"{each}; no nodes for what is decommissioned: {', '.join(gone)}" if gone else each


def stay(pid: int) -> None:
    """Become a small process that waits for the stack's end and passes Ctrl-C on."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "controlplane.embedded.attach", str(pid)])
