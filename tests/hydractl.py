"""``hydractl`` as a process with its own streams and exit status."""

import subprocess
from pathlib import Path

from tests import forked


def run(
    words: tuple[str, ...], env: dict[str, str], stdin: str = "", cwd: Path | None = None, timeout_s: float = 120
) -> "subprocess.CompletedProcess[str]":
    """Run it in exactly this environment. It never ends with a traceback."""
    done = forked.run(["-m", "client", *words], env, cwd or Path.cwd(), stdin, timeout_s)
    assert "Traceback" not in done.stderr, done.stderr
    return done
