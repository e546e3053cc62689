"""``manage.py logs``: what the processes wrote."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.embedded.home import Home

POLL_S = 0.3
TAIL_BYTES = 64 * 1024


class Command(BaseCommand):
    help = "Show the logs of all processes or of one; -f goes on showing."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", help="a process as named by status")
        parser.add_argument("-f", "--follow", action="store_true")
        parser.add_argument("-n", "--lines", type=int, default=40, help="of each log")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = Home.from_environment().logs
        files = sorted(folder.glob("*.log"))
        if options["name"]:
            files = [f for f in files if f.stem == options["name"]]
        if not files:
            known = ", ".join(sorted(f.stem for f in folder.glob("*.log"))) or "none yet"
            raise CommandError(f"no log of {options['name'] or 'anything'} in {folder}; there are: {known}")
        width = max(len(f.stem) for f in files) if len(files) > 1 else 0
        offsets = {f: self.tail(f, options["lines"], width) for f in files}
        try:
            while options["follow"]:
                time.sleep(POLL_S)
                offsets = {f: self.more(f, offset, width) for f, offset in offsets.items()}
        except KeyboardInterrupt:
            pass

    def tail(self, file: Path, lines: int, width: int) -> int:
        with file.open("rb") as log:
            end = log.seek(0, 2)
            log.seek(max(0, end - TAIL_BYTES))
            self.show(file, log.read().splitlines()[-lines:], width)
        return end

    def more(self, file: Path, offset: int, width: int) -> int:
        size = file.stat().st_size
        if size < offset:  # it was emptied
            offset = 0
        if size > offset:
            with file.open("rb") as log:
                log.seek(offset)
                self.show(file, log.read(size - offset).splitlines(), width)
        return size

    def show(self, file: Path, lines: list[bytes], width: int) -> None:
        prefix = f"{file.stem:<{width}} | " if width else ""
        for line in lines:
            self.stdout.write(prefix + line.decode(errors="replace"))
