"""Histories as files: who reads one slowly keeps nobody from the next, and what takes too long is given up."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from controlplane.router import exporting
from controlplane.statestore.errors import Conflict, TooMany

WINDOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


def written_by(settings: Any, folder: Path, program: str) -> None:
    """What ``manage.py`` is, for once."""
    (folder / "manage.py").write_text(f"import sys, time\n{program}\n")
    settings.BASE_DIR = folder


def test_one_that_nobody_reads_holds_no_process_and_keeps_no_other_waiting(settings: Any, tmp_path: Path) -> None:
    written_by(settings, tmp_path, "sys.stdout.buffer.write(b'x' * 3_000_000)")
    unread, read = exporting.history(*WINDOW), exporting.history(*WINDOW)
    assert b"".join(read) == b"x" * 3_000_000 == b"".join(unread) and read["Content-Length"] == "3000000"
    unread.pieces.close()
    read.pieces.close()


def test_what_ends_badly_or_late_is_told_and_makes_way(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_by(settings, tmp_path, "sys.stdout.write('half'); sys.exit('Wrong\\n--from: no job ran in this window')")
    with pytest.raises(Conflict, match="no history of this window: --from: no job ran"):
        exporting.history(*WINDOW)
    monkeypatch.setattr(exporting, "WAIT_S", 0.2)
    written_by(settings, tmp_path, "time.sleep(600)")
    with pytest.raises(Conflict, match="take a shorter one"):
        exporting.history(*WINDOW)
    with exporting._turn, pytest.raises(TooMany):
        exporting.history(*WINDOW)
