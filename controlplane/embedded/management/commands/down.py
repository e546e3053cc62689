"""``manage.py down``: stop what ``up`` started."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from controlplane.embedded import stack
from controlplane.embedded.home import Home, HomeError


class Command(BaseCommand):
    help = "Stop the running stack: whoever leads first, stores last. Nothing is lost."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        home = Home.from_environment()
        console = Console(stderr=True)
        started = time.monotonic()
        try:
            with console.status("stopping") as status:
                stopped = stack.stop(home, status.update)
        except HomeError as problem:
            raise CommandError(str(problem)) from None
        done = f"stopped in {time.monotonic() - started:.1f} s" if stopped else f"nothing runs in {home.root}"
        console.print(done)
