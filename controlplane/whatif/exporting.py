"""``manage.py trace``: jobs as a history, a file that simulations and ``hydractl replay`` read.

They are those of a window of the recorded history, or those of another system's log.
"""

import datetime as dt
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from controlplane.whatif import history, offline
from controlplane.whatif.offlinecluster import Wrong
from simulator.workload import Disordered, Submission
from simulator.workloads import READERS
from simulator.workloads.history import dump, packed, write
from wire.counts import counted

Json = dict[str, Any]
STDOUT = "-"
_AGO, _UNITS = re.compile(r"-(\d{1,6})([mhd])"), {"m": "minutes", "h": "hours", "d": "days"}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("output", help="the file to write, gzipped where its name ends in .gz; - is stdout, gzipped")
    parser.add_argument(
        "--from", dest="first", metavar="TIME", help="of the recorded history: -6h, or YYYY-MM-DDTHH:MM in UTC"
    )
    parser.add_argument("--to", dest="last", metavar="TIME", help="the window's end; now, if left out")
    parser.add_argument("--workload", choices=sorted(READERS), help="instead: what PATH is; synthetic needs none")
    parser.add_argument("path", nargs="?", type=Path, help="the log or trace")
    parser.add_argument("--option", action="append", default=[], metavar="K=V", help="of the workload's reader")


def main(options: Json) -> None:
    """Raises ``Wrong``. What had to be assumed is said on stderr."""
    if bool(options["first"]) == bool(options["workload"]):
        raise Wrong("--from: and --workload are both given, or neither; name a window of the history, or a file")
    jobs, notes = _recorded(options) if options["first"] else _read(options)
    try:
        count = _write(options["output"], jobs, notes)
    except OSError as error:
        raise Wrong(f"output: {options['output']} cannot be written ({error.strerror}); name another place") from None
    except Disordered as error:
        raise Wrong(f"--workload: {error}") from None
    for note in [counted(count, "job"), *notes]:
        print(note, file=sys.stderr)


def _recorded(options: Json) -> tuple[list[Submission], list[str]]:
    first, last = _moment("--from", options["first"]), _moment("--to", options["last"])
    if not first < last:
        raise Wrong(f"--from: {first:%Y-%m-%dT%H:%M} does not lie before --to; swap them")
    found = history.read(first, last)
    if not found.jobs:
        raise Wrong("--from: no job ran in this window; choose another")
    return found.jobs, found.notes


def _moment(option: str, text: str | None) -> dt.datetime:
    now = dt.datetime.now(dt.UTC)
    if ago := _AGO.fullmatch(text or ""):
        return now - dt.timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        found = dt.datetime.fromisoformat(text) if text else now
    except ValueError:
        raise Wrong(f"{option}: {text!r} is no time; write YYYY-MM-DDTHH:MM, or -6h") from None
    return found if found.tzinfo else found.replace(tzinfo=dt.UTC)


def _read(options: Json) -> tuple[list[Submission], list[str]]:
    return offline.jobs_of(options, offline.reader_options(options["option"]))


def _write(output: str, jobs: Iterable[Submission], notes: list[str]) -> int:
    """The file says the notes too, for whoever is handed it."""
    if output != STDOUT:
        return dump(jobs, output, notes)
    with packed(sys.stdout.buffer) as file:
        return write(jobs, file, notes)
