"""``manage.py test``: what every change must pass, and at the end what was left out and why."""

import signal
import sys
from argparse import REMAINDER, ArgumentParser
from collections.abc import Sequence
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
        parser.add_argument("words", nargs=REMAINDER, help="for pytest")

    def handle(self, *args: Any, **options: Any) -> None:
        from tests.gate import run
        from tests.gate.stages import FAULTS, FAULTS_MARKER, GATE_LANES, STAGES, Stage

        words = list(options["words"])
        chosen = {name: _take(words, name) for name in ("--faults", "--all", "--soak")}
        if "--stage" in words:
            at = words.index("--stage")
            name = words[at + 1] if at + 1 < len(words) else ""
            if name not in STAGES:
                sys.exit(f"manage.py test: --stage is one of {', '.join(STAGES)}, not {name or 'nothing'}")
            del words[at : at + 2]
            lanes: Sequence[Sequence[Stage]] = [[STAGES[name]]]
        else:
            lanes = [[FAULTS]] if chosen["--faults"] else [] if words and not chosen["--all"] else GATE_LANES
        environ = run.environment(chosen["--soak"], lightly=lanes != [[FAULTS]] and FAULTS_MARKER not in words)
        status = run.stages(lanes, words, environ) if lanes else run.only(words, environ)
        if chosen["--all"]:
            status = run.stages([[FAULTS]], words, run.environment(chosen["--soak"], lightly=False)) or status
        sys.exit(status)


def _take(words: list[str], name: str) -> bool:
    """Whether the option is there; it is removed."""
    found = name in words
    while name in words:
        words.remove(name)
    return found
