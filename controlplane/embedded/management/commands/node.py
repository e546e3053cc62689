"""``manage.py node``: becomes a node manager."""

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

REPO = Path(__file__).resolve().parents[4]


class Command(BaseCommand):
    help = "Run a node manager with the given configuration file."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--config", required=True, help="the node's configuration file")

    def handle(self, *args: Any, **options: Any) -> None:
        environ = os.environ | {"PYTHONPATH": str(REPO)}
        argv = [sys.executable, "-m", "nodemanager", "--config", options["config"]]
        os.execve(sys.executable, argv, environ)
