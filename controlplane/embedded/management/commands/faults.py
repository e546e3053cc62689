"""``manage.py faults``: random lives of a federation under faults, or one of them told from its seed."""

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from simulator.faults import life
from simulator.faults.bugs import BUGS
from simulator.faults.hunt import found_after, lives

TOLD_MOST = 5  # failures told with their last steps


class Command(BaseCommand):
    help = "Live random lives of a small federation under faults; exits with 1 when a seed breaks an invariant."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--seeds", type=int, default=1000, help="how many lives")
        parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
        parser.add_argument("--processes", type=int, default=1, help="lives that are lived at the same time")
        parser.add_argument("--replay", type=int, metavar="SEED", help="tell this life step by step")
        parser.add_argument("--planted", metavar="BUG", help='how many seeds a planted bug takes; "all" for each')

    def handle(self, *args: Any, **options: Any) -> None:
        if options["replay"] is not None:
            self._replay(options["replay"])
        elif options["planted"]:
            self._planted(options["planted"])
        else:
            self._lives(options["first"], options["seeds"], options["processes"])

    def _replay(self, seed: int) -> None:
        found = life.run(seed)
        for line in found.trace:
            self.stdout.write(line)
        self.stdout.write(f"seed {seed}: {found.violation or 'all well'}; digest {found.digest}")
        if found.violation:
            raise CommandError(f"step {found.step}: {found.violation}")

    def _planted(self, name: str) -> None:
        if name != "all" and name not in BUGS:
            raise CommandError(f"no planted bug {name!r}; there are: {', '.join(BUGS)}")
        missed = []
        for bug in BUGS.values() if name == "all" else [BUGS[name]]:
            found = found_after(bug, range(bug.seeds))
            text = f"{found.seed + 1:4} seeds: {found.rule}" if found else f"not found in {bug.seeds} seeds"
            self.stdout.write(f"{bug.name:<28} {text}")
            if found is None:
                missed.append(bug.name)
        if missed:
            raise CommandError(f"not found: {', '.join(missed)}")

    def _lives(self, first: int, count: int, processes: int) -> None:
        console, bad, began = Console(stderr=True), [], time.monotonic()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("lives", total=count)
            for found in lives(range(first, first + count), processes):
                progress.advance(task)
                if found.violation:
                    bad.append(found)
                    progress.update(task, description=f"lives, {len(bad)} broken")
                    if len(bad) <= TOLD_MOST:
                        progress.console.print(str(found), markup=False, highlight=False)
        rate = count / max(1e-9, time.monotonic() - began) * 60
        self.stdout.write(f"{count - len(bad)} of {count} lives end well, {rate:.0f} a minute")
        if bad:
            seeds = ", ".join(str(found.seed) for found in sorted(bad, key=lambda found: found.seed))
            raise CommandError(f"broken: {seeds} (manage.py faults --replay SEED)")
