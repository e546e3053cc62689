"""``manage.py template``: loads what the roles need, and makes copies of itself that become them."""

import importlib
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import execute_from_command_line
from django.core.management.base import BaseCommand
from django.db import connections

from controlplane import heap
from controlplane.embedded import notify, template

# What the commands of the roles would load: the web process's entry and servers, the workers' and beat's application.
LOADED = (
    "controlplane.asgi",
    "controlplane.router.urls",
    "controlplane.worker",
    "controlplane.broker",
    "celery.apps.worker",
    "celery.beat",
    "celery.concurrency.thread",
    "celery.worker.components",
    "celery.worker.loops",
    "uvicorn",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    "uvloop",
    "whitenoise.middleware",
)


class Command(BaseCommand):
    help = "Make copies of this process that become the roles of this host (started by: up)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("address", type=Path, help="socket on which copies are asked for")
        parser.add_argument("roles", nargs="*", help="who is going to ask; for those who look at the processes")

    def handle(self, *args: Any, **options: Any) -> None:
        from controlplane.celery import app

        for name in (*LOADED, *app.conf.imports):
            importlib.import_module(name)
        connections.close_all()
        heap.settle()
        listener = template.listen(options["address"])
        notify.ready()
        words = template.serve(listener)
        sys.argv = [sys.argv[0], *words]
        template.rename([sys.executable, *sys.argv])
        execute_from_command_line(sys.argv)
