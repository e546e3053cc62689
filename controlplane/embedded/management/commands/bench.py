"""``manage.py bench``: lists the benchmarks, or runs one from a clean state."""

import ast
import importlib
import json
import os
import platform
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

REPO = Path(__file__).resolve().parents[4]
FOLDER = REPO / "benchmarks"


class Command(BaseCommand):
    help = "List the benchmarks, or run one: bench NAME [--json FILE] [its own arguments]."
    requires_system_checks: list[str] = []

    def run_from_argv(self, argv: list[str]) -> None:
        """What this command does not know goes to the benchmark."""
        parser = self.create_parser(argv[0], argv[1])
        options, rest = parser.parse_known_args(argv[2:])
        try:
            self.handle(**vars(options), rest=rest)
        except CommandError as problem:
            sys.exit(f"bench: {problem}")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?")
        parser.add_argument("--json", metavar="FILE", help="write name, figures, machine and settings there")

    def handle(self, *args: Any, **options: Any) -> None:
        known = benchmarks()
        if not options["name"]:
            for name, summary in known.items():
                print(f"{name:<16} {summary}")
            return
        if options["name"] not in known:
            raise CommandError(f"no benchmark {options['name']!r}; there are: {', '.join(known) or 'none'}")
        module = importlib.import_module("benchmarks." + options["name"].replace("-", "_"))
        figures = module.main(options["rest"])
        result = {"name": options["name"], "figures": figures, "machine": machine(), "settings": settings_in_force()}
        print(json.dumps(figures, indent=1))
        if options["json"]:
            Path(options["json"]).write_text(json.dumps(result, indent=1) + "\n")


def benchmarks() -> dict[str, str]:
    """Name -> first line of the module's docstring, for every module with a ``main``."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        tree = ast.parse(path.read_text())
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
            found[path.stem.replace("_", "-")] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    memory_mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_mib": memory_mib,
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def settings_in_force() -> dict[str, Any]:
    from django.conf import settings

    return dict(settings.HYDRA)
