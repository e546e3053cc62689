"""The front end's own tests, and the packages that they and the rebuild of the bundle need."""

import fcntl
import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.gate import lanes

REPO = Path(__file__).resolve().parents[2]
FRONTEND = REPO / "frontend"
NODE_MAJOR_MIN = 20
TRIES = 3  # registries are somebody else's machines
_STAMP = "node_modules/.package-lock.json"


def cannot() -> str:
    """Why the front end's tests cannot run here; empty when they can."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "Node.js and npm are not installed"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    major = version.lstrip("v").partition(".")[0]
    if not major.isdigit() or int(major) < NODE_MAJOR_MIN:
        return f"Node.js is {version or 'broken'}; {NODE_MAJOR_MIN} or newer is needed"
    return ""


def install() -> None:
    """Bring ``node_modules`` to what the lock file names; nothing where it is. Raises ``CalledProcessError``."""
    with open(FRONTEND / ".install.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = FRONTEND / _STAMP
        if done.exists() and done.stat().st_mtime >= (FRONTEND / "package-lock.json").stat().st_mtime:
            return
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
        for left in reversed(range(TRIES)):
            installed = subprocess.run(command, cwd=FRONTEND, capture_output=True, text=True, check=False)
            if installed.returncode == 0:
                done.touch()
                return
            if not left:
                raise subprocess.CalledProcessError(installed.returncode, command, installed.stdout, installed.stderr)
            time.sleep(2)


def test(record: Path, log: Path, environ: dict[str, str]) -> tuple[int, float]:
    """Run the tests and write one line for each, as ``tests.gate.record`` does; as ``lanes.child`` answers."""
    try:
        install()
    except subprocess.CalledProcessError as error:
        log.write_text(f"{error}\n{error.stdout}\n{error.stderr}")
        return error.returncode, 0.0
    found = record.with_suffix(".vitest.json")
    words = ["npm", "test", "--", "--reporter=default", "--reporter=json", f"--outputFile={found}"]
    with open(log, "w") as out:
        status, cpu_s = lanes.child(words, FRONTEND, environ, out)
    if found.exists():
        record.write_text("".join(json.dumps(line) + "\n" for line in _lines(json.loads(found.read_text()))))
    return status, cpu_s


def _lines(report: dict[str, Any]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [{"collected": report["numTotalTests"]}]
    for file in report["testResults"]:
        name = str(Path(file["name"]).relative_to(REPO))
        for test in file["assertionResults"]:
            line = {"test": f"{name}::{test['fullName']}", "phase": "call", "outcome": test["status"]}
            line |= {"seconds": (test.get("duration") or 0) / 1000, "missed_time": False}
            line |= {"error": "\n".join(test.get("failureMessages") or [])[:300]}
            lines.append(line | {"outcome": line["outcome"] if line["outcome"] in {"passed", "failed"} else "skipped"})
    return lines
