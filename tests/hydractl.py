"""``hydractl`` as a process with its own streams and exit status, forked from one that has loaded it already."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["client.hydractl", "tests.hydractl"])
TIMEOUT_S = 120


def run(
    words: tuple[str, ...], env: dict[str, str], stdin: str = "", cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run it in exactly this environment. It never ends with a traceback."""
    with tempfile.TemporaryDirectory(prefix="hydractl-") as folder:
        streams = [Path(folder) / name for name in ("in", "out", "err")]
        streams[0].write_text(stdin)
        process = _forks.Process(target=_become, args=(words, env, streams, cwd or Path.cwd()))
        process.start()
        process.join(TIMEOUT_S)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(["hydractl", *words], TIMEOUT_S)
        out, err = (path.read_text() for path in streams[1:])
        done = subprocess.CompletedProcess(["hydractl", *words], process.exitcode, out, err)
        process.close()
    assert "Traceback" not in err, err
    return done


def _become(words: tuple[str, ...], env: dict[str, str], streams: list[Path], cwd: Path) -> None:
    for number, (path, flags) in enumerate(zip(streams, (os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT] * 2), strict=True)):
        os.dup2(os.open(path, flags, 0o600), number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for as long as the process lives
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = ["hydractl", *words]
    from client.hydractl import app

    app(prog_name="hydractl")
