"""``manage.py test``: what every change must pass, and at the end what was left out and why."""

import signal
import sys
from argparse import REMAINDER, ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = (
        "Run the gate: the stages pure, stores, stack, browser and kernels. --faults runs the limits of promises "
        "instead, --all both, --stage NAME one stage; --soak adds the long variants. Other arguments go to pytest."
    )
    requires_system_checks: list[str] = []

    def run_from_argv(self, argv: list[str]) -> None:
        """Take every argument as it is, so that pytest's own options need no separator."""
        if {"-h", "--help"} & set(argv[2:]):
            self.print_help(argv[0], argv[1])
            return
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever cuts a run off, cuts all of it off
        try:
            self.handle(words=argv[2:])
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)

    def add_arguments(self, parser: ArgumentParser) -> None:
        for name, text in (
            ("--faults", "the limits of promises, alone on the machine"),
            ("--all", "the gate, then the faults"),
            ("--soak", "also the long variants, with new random examples"),
        ):
            parser.add_argument(name, action="store_true", help=text)
        parser.add_argument("--stage", help="pure, stores, stack, browser, kernels or faults")
        parser.add_argument("--table", metavar="FILE", help="a document whose table of promises is brought up to date")
        parser.add_argument("words", nargs=REMAINDER, help="for pytest; paths stand in place of a stage's own")

    def handle(self, *args: Any, **options: Any) -> None:
        from tests.gate import run
        from tests.gate.stages import FAULTS, GATE_LANES, STAGES
        from tests.gate.words import named, take, take_value

        words = list(options["words"])
        faults, both, soak = (take(words, name) for name in ("--faults", "--all", "--soak"))
        stage, table = take_value(words, "--stage"), take_value(words, "--table")
        if stage is not None and stage not in STAGES:
            sys.exit(f"manage.py test: --stage is one of {', '.join(STAGES)}, not {stage or 'nothing'}")
        if table is not None and not Path(table).is_file():
            sys.exit(f"manage.py test: --table is a document with a table of promises, not {table or 'nothing'}")
        if stage is not None:
            phases: list[run.Lanes] = [[[STAGES[stage]]]]
        elif both:
            phases = [run.OF_THE_GATE if named(words) else GATE_LANES, [[FAULTS]]]
        elif faults:
            phases = [[[FAULTS]]]
        else:
            phases = [] if words else [GATE_LANES]
        if phases:
            sys.exit(run.stages(phases, words, soak, Path(table) if table else None))
        sys.exit(run.only(words, soak))
