"""The virtual environment beside manage.py: made, filled, repaired, entered. Standard library only.

Two files tell its state: ``hydra.installing`` lies in it while pip works, so
an interrupted install is seen and done afresh; ``hydra.stamp`` holds the hash
of what was installed, so that a second run costs nothing.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONSTRAINTS = "constraints.txt"  # the version of every package, also of those that only others need
STAMP = "hydra.stamp"
INSTALLING = "hydra.installing"
MIN_FREE_MIB = 600
UV = "uv==0.13.9"  # installs in a few seconds what takes pip a minute
TRIES = 2  # indexes are somebody else's machines
OPTIONS = ("--disable-pip-version-check", "--no-input", "--no-color", "--prefer-binary")


class InstallError(Exception):
    """The environment could not be made; the text says what to do."""


def location(root: Path) -> Path:
    return Path(os.environ.get("HYDRA_VENV") or root / ".venv").absolute()


def enter(root: Path, argv: list[str], with_dev: bool) -> None:
    """Return inside the filled environment, replacing this process when it runs elsewhere."""
    where = location(root)
    files = [root / CONSTRAINTS, root / "requirements.txt"] + ([root / "requirements-dev.txt"] if with_dev else [])
    stamp = fingerprint(files)
    if not installed(where, files, stamp):
        with locked(where):
            if not installed(where, files, stamp):
                fill(where, files, stamp)
    if Path(sys.prefix).resolve() != where.resolve():
        python = str(where / "bin" / "python")
        os.execv(python, [python, *argv])


def keep_bytecode() -> None:
    """Where nothing may be written beside sources, keep what Python makes of them in the environment's folder.

    For this process and those it starts. Each would compile two thousand files otherwise: more than half of its start.
    """
    if sys.dont_write_bytecode and sys.pycache_prefix is None:
        sys.pycache_prefix, sys.dont_write_bytecode = str(Path(sys.prefix) / "var" / "bytecode"), False
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def fingerprint(files: list[Path]) -> dict[str, str]:
    """File name -> hash of its text and of the interpreter's version."""
    version = repr(sys.version_info[:2]).encode()
    try:
        return {f.name: hashlib.sha256(version + f.read_bytes()).hexdigest() for f in files}
    except FileNotFoundError as missing:
        raise InstallError(f"{missing.filename} is missing; is this a complete clone?") from None


def read_stamp(where: Path) -> dict[str, str]:
    try:
        lines = (where / STAMP).read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return dict(line.split(" ", 1) for line in lines if " " in line)


def installed(where: Path, files: list[Path], stamp: dict[str, str]) -> bool:
    have = read_stamp(where)
    return (
        all(have.get(f.name) == stamp[f.name] for f in files)
        and not (where / INSTALLING).exists()
        and os.access(where / "bin" / "python", os.X_OK)
    )


@contextmanager
def locked(where: Path) -> Iterator[None]:
    """One installer at a time; a second one waits and then finds the work done."""
    where.parent.mkdir(parents=True, exist_ok=True)
    with open(where.with_name(where.name + ".lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another manage.py is installing; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fill(where: Path, files: list[Path], stamp: dict[str, str]) -> None:
    """Make the environment if needed and install into it. Raises ``InstallError``."""
    try:
        if (where / INSTALLING).exists():
            say(f"an earlier install into {where} was interrupted; starting it afresh")
            shutil.rmtree(where)
        if not (where / "bin" / "python").exists():
            create(where)
        else:
            (where / INSTALLING).touch()
        check_space(where)
        install(where, files)
        merged = read_stamp(where) | stamp
        (where / STAMP).write_text("".join(f"{name} {digest}\n" for name, digest in merged.items()))
        (where / INSTALLING).unlink()
    except OSError as error:
        raise InstallError(f"cannot install into {where}: {error.strerror or error}") from None


def create(where: Path) -> None:
    import venv

    say(f"making {where}")
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    (where / INSTALLING).touch()
    venv.EnvBuilder(symlinks=True, with_pip=False).create(where)


def check_space(where: Path) -> None:
    free_mib = shutil.disk_usage(where).free // 2**20
    if free_mib < MIN_FREE_MIB:
        raise InstallError(
            f"{where} has {free_mib} MiB free and the install needs {MIN_FREE_MIB}: "
            "make room, or set HYDRA_VENV to a folder on another disk"
        )


def pip_command(where: Path) -> list[str]:
    """This interpreter's pip working on the new environment, or, without one, a pip put into it."""
    python = str(where / "bin" / "python")
    probe = [sys.executable, "-m", "pip", "--python", python, "--version"]
    if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
        return probe[:-1]
    ensure = subprocess.run([python, "-m", "ensurepip"], capture_output=True, text=True, check=False)
    if ensure.returncode:
        raise InstallError(
            "this Python has neither pip nor ensurepip. On Debian or Ubuntu: apt install python3-venv python3-pip"
        )
    return [python, "-m", "pip"]


def install(where: Path, files: list[Path]) -> None:
    """With uv where pip has no index of its own and uv can be had, otherwise with pip. Raises ``InstallError``."""
    started = time.monotonic()
    pip = pip_command(where)
    wanted = [part for f in files for part in ("-c" if f.name == CONSTRAINTS else "-r", str(f))]
    if has_usual_index(pip) and run([*pip, "install", *OPTIONS, UV], started)[0] == 0:
        uv = [str(where / "bin" / "uv"), "pip", "install", "--system-certs", "--python", str(where / "bin" / "python")]
        if run([*uv, *wanted], started)[0] == 0:
            say(f"installed in {time.monotonic() - started:.0f} s")
            return
    for _ in range(TRIES):
        status, lines = run([*pip, "install", *OPTIONS, *wanted], started)
        if status == 0:
            say(f"installed in {time.monotonic() - started:.0f} s")
            return
    tail = "\n  ".join(line for line in lines[-8:] if line)
    raise InstallError(f"pip could not install the requirements (is the network up?):\n  {tail}")


def has_usual_index(pip: list[str]) -> bool:
    """Whether pip is configured with no index of its own: uv does not know pip's settings."""
    listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=False)
    return listed.returncode == 0 and "index" not in listed.stdout


def run(command: list[str], started: float) -> tuple[int, list[str]]:
    """Its exit status and what it said, whose last line is shown meanwhile."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        lines: list[str] = []
        with alive(lines, started):
            for line in process.stdout:
                lines.append(line.rstrip())
    return process.returncode, lines


@contextmanager
def alive(lines: list[str], started: float) -> Iterator[None]:
    """Show every second on a terminal, every five elsewhere, that the install goes on."""
    done = threading.Event()
    tty = sys.stderr.isatty()

    def show() -> None:
        while not done.wait(1 if tty else 5):
            last = next((line for line in reversed(lines) if line), "asking the index").strip()[:60]
            text = f"installing ({time.monotonic() - started:.0f} s): {last}"
            print(f"\r\033[K{text}" if tty else text, end="" if tty else "\n", file=sys.stderr, flush=True)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if tty:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
