"""Copies of a process that has loaded everything: they belong to whoever asked, and nobody's copy lives."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from controlplane.embedded import spawn, template
from tests.patience import wait_until
from tests.stores import ROOT

# It adopts orphans, as a supervisor does, has a template, asks for copies as it is told, and says how they ended.
ASKER = """
import os, sys
from pathlib import Path
from controlplane.embedded import spawn, template

address = Path(sys.argv[1])
spawn.adopt_orphans()
listener = template.listen(address)
if os.fork() == 0:
    spawn.die_with_parent(os.getppid(), 9)
    words = template.serve(listener)
    template.rename(["asker", *words])
    exec(" ".join(words))
    os._exit(0)
for line in sys.stdin:
    pid = template.copy(address, line.split(), address.with_name("log"))
    print(pid, flush=True)
    if "wait" not in line:
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Asker:
    def __init__(self, folder: Path) -> None:
        self.log = folder / "log"
        command = [sys.executable, "-c", ASKER, str(folder / "template.sock")]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def ask(self, words: str) -> int:
        assert self.process.stdin is not None
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return self.said()

    def said(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()


@contextmanager
def asking(folder: Path) -> Iterator[Asker]:
    asker = Asker(folder)
    try:
        yield asker
    finally:
        asker.end()


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_copy_is_its_askers_child_with_words_a_log_and_an_end_of_its_own(tmp_path: Path) -> None:
    with asking(tmp_path) as asker:
        pid = asker.ask("print(os.getpid(),os.getppid(),os.getpgid(0),flush=True);sys.exit(7)")
        assert asker.said() == 7
        assert asker.log.read_text().split() == [str(pid), str(asker.process.pid), str(pid)]


def test_it_is_shown_by_its_words_and_ends_with_its_asker(tmp_path: Path) -> None:
    with asking(tmp_path) as asker:
        pid = asker.ask("import signal;signal.pause()#wait")
        wait_until(lambda: psutil.Process(pid).cmdline()[:2] == ["asker", "import"], 10, "it is renamed")
        asker.process.kill()
        wait_until(lambda: gone(pid), 10, "it ends, too")


def test_without_a_template_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(template.Absent, match="does not answer"):
        template.copy(tmp_path / "template.sock", ["web"], tmp_path / "log")


def test_a_copy_whose_asker_went_away_ends(tmp_path: Path) -> None:
    """Its number was told to somebody who no longer listens."""
    with asking(tmp_path) as asker:
        asker.ask("pass")
        with (
            open(tmp_path / "log", "ab") as log,
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line,
        ):
            line.connect(str(tmp_path / "template.sock"))
            socket.send_fds(line, [json.dumps(["print(1)"]).encode()], [log.fileno()])
            pid = int(line.recv(100))
        wait_until(lambda: gone(pid), 10, "it ends")
        assert asker.log.read_text() == ""


def test_before_exec_ties_a_process_to_the_parent_that_is_named() -> None:
    pid = os.fork()
    if pid == 0:
        spawn.before_exec(signal.SIGKILL, parent=1)()  # not its parent, so it must not live on
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
