"""The README's first command, as a stranger types it."""

import os
import subprocess
import sys
from pathlib import Path

import psutil

from tests.homes import ready_made
from tests.patience import wait_until
from tests.stack import own_port
from tests.stores import ROOT, bare_environment


def test_the_demo_runs_its_job_to_the_result_and_leaves_nothing_behind(tmp_path: Path) -> None:
    home = ready_made(tmp_path / "home")
    environ = bare_environment() | {"HYDRA_HOME": str(home), "HYDRA_HTTP_PORT": str(own_port())}
    environ["HYDRA_TIED_TO"] = str(os.getpid())
    command = [sys.executable, str(ROOT / "manage.py"), "demo", "--exit"]
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for words in ("web        http://127.0.0.1:", "The 20 largest modules", "manage.py up --detach"):
        assert words in done.stdout
    assert "The cluster is stopped" in done.stdout and "manage.py status" not in done.stdout, (
        "what works only while it runs"
    )
    wait_until(lambda: not _working_in(home), 20, "every process of it has ended")


def _working_in(home: Path) -> list[int]:
    return [p.pid for p in psutil.process_iter(["cmdline"]) if str(home) in " ".join(p.info["cmdline"] or ())]
