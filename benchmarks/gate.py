"""The gate: how long it takes in fresh clones, how often it is flaky or red, and whether it finds planted defects."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

REPO = Path(__file__).resolve().parent.parent
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
BUSY = "while True: pass"


@dataclass(frozen=True)
class Defect:
    """A mistake that somebody could make. stage: where it is to be found."""

    name: str
    path: str
    right: str
    wrong: str
    stage: str = "stores"


DEFECTS = (
    Defect("an epoch check left out", "controlplane/statestore/schema.sql", "AND epoch = my_epoch", ""),
    Defect("a lost wake-up", "controlplane/statestore/bus.py", "    if ids:\n", "    if len(ids) > 1:\n"),
    Defect("a lease never renewed", "controlplane/rm/leader.py", "self.store.renew()", "self.timers.renew = now"),
    Defect(
        "a document published before the commit",
        "controlplane/rm/round.py",
        "        self._gather(c)\n",
        "        self._gather(c)\n        self._publish()\n",
    ),
    Defect(
        "an off-by-one in a share",
        "scheduler/shares/fair.py",
        "share[kids[j], i] = base[i, j]",
        "share[kids[j], i] = base[i, j] + 1",
        "pure",
    ),
    Defect(
        "a route without its rule",
        "controlplane/router/views/accounts.py",
        '        require("cluster.operate", request)\n',
        "",
    ),
)


def main(argv: list[str]) -> dict[str, object]:
    """``--runs N`` gates (5), ``--fresh``: each with an environment of its own, ``--busy N`` processes beside it.

    ``--defects``: plant each defect instead, and run the stage that is to find it.
    """
    parser = ArgumentParser(prog="bench gate")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--defects", action="store_true")
    options = parser.parse_args(argv)
    if options.defects:
        return {"found": {defect.name: found(defect) for defect in DEFECTS}}
    with busy(options.busy):
        runs = [gate(options.fresh) for _ in range(options.runs)]
    seconds = sorted(run["seconds"] for run in runs)
    return {
        "runs": len(runs),
        "red": sum(run["status"] != 0 for run in runs),
        "flaky": [line for run in runs for line in run["flaky"]],
        "failed": [line for run in runs for line in run["failed"]],
        "min_s": seconds[0],
        "median_s": median(seconds),
        "max_s": seconds[-1],
        "tests": runs[-1]["tests"],
    }


def gate(fresh: bool) -> dict:
    """One run in a clone of its own, as a stranger would start it."""
    with clone() as here:
        began = time.monotonic()
        status, told = run(here, fresh)
        seconds = round(time.monotonic() - began, 1)
    counts = SUMMARY.findall(told)
    print(f"gate: status {status} after {seconds} s, {counts[-1:] or 'no summary'}", flush=True)
    lines = told.splitlines()
    return {
        "status": status,
        "seconds": seconds,
        "tests": sum(map(int, counts[-1])) if counts else 0,
        "flaky": [line for line in lines if line.startswith("FLAKY ")],
        "failed": [line for line in lines if line.startswith(("FAILED ", "BROKEN "))],
    }


def found(defect: Defect) -> bool:
    """Whether the stage is red with it."""
    with clone() as here:
        path = here / defect.path
        text = path.read_text()
        if defect.right not in text:
            sys.exit(f"bench gate: {defect.path} has changed; the defect {defect.name!r} is to be planted anew")
        path.write_text(text.replace(defect.right, defect.wrong, 1))
        status, told = run(here, False, "--stage", defect.stage)
    failed = [line for line in told.splitlines() if line.startswith("FAILED ")]
    print(f"{defect.name}: {'found' if status else 'NOT FOUND'}", *failed[:3], sep="\n  ", flush=True)
    return status != 0


@contextmanager
def clone() -> Iterator[Path]:
    """Of what is committed here, with the material beside it."""
    with tempfile.TemporaryDirectory(prefix="hydra-gate-") as folder:
        Path(folder).chmod(0o755)  # tasks of tenants read the environment in it
        here = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(REPO), str(here)], check=True)
        if (REPO.parent / "shared").is_dir():
            (here.parent / "shared").symlink_to(REPO.parent / "shared")
        yield here


def run(here: Path, fresh: bool, *words: str) -> tuple[int, str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("HYDRA_", "DJANGO_"))}
    for name in ("DATABASE_URL", "REDIS_URL", "VIRTUAL_ENV"):
        environ.pop(name, None)
    if not fresh:
        environ["HYDRA_VENV"] = sys.prefix
    python = shutil.which("python3", path=os.defpath) if fresh else sys.executable
    done = subprocess.run(
        [python or "python3", "manage.py", "test", *words], cwd=here, env=environ, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that want a core each."""
    with ExitStack() as stack:
        for _ in range(processes):
            process = subprocess.Popen([sys.executable, "-c", BUSY])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield
