"""``manage.py test``: everything that can be tested on this host, and at the end what could not and why."""

import importlib.util
import os
import shutil
import subprocess
import sys
import threading
from argparse import REMAINDER, ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

REPO = Path(__file__).resolve().parents[4]
FRONTEND = REPO / "frontend"
NODE_MAJOR_MIN = 20
PROCESSES_MAX = 4  # each has stores of its own


class Command(BaseCommand):
    help = "Run all tests. Arguments go to pytest; --soak adds the long variants of the fault tests."
    requires_system_checks: list[str] = []

    def run_from_argv(self, argv: list[str]) -> None:
        """Take every argument as it is, so that pytest's own options need no separator."""
        if {"-h", "--help"} & set(argv[2:]):
            self.print_help(argv[0], argv[1])
            return
        self.handle(words=argv[2:])

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--soak", action="store_true", help="also the long variants")
        parser.add_argument("words", nargs=REMAINDER, help="for pytest")

    def handle(self, *args: Any, **options: Any) -> None:
        words = [w for w in options["words"] if w != "--soak"]
        environ = os.environ | {"PYTHONPATH": str(REPO)}
        for name in ("DJANGO_SETTINGS_MODULE", *own_settings()):
            environ.pop(name, None)
        soak = "--soak" in options["words"] or environ.pop("HYDRA_SOAK", "0") == "1"
        if soak:
            environ["HYDRA_SOAK"] = "1"
        left_out = []
        frontend_status = 0
        if not words:
            threading.Thread(target=compile_ahead, daemon=True).start()
            reason = frontend_cannot()
            frontend_status = 0 if reason else test_frontend(environ)
            left_out += [f"front end: {reason}"] if reason else []
        if reason := browser_cannot():
            left_out.append(f"browser: {reason}")
        if not soak:
            left_out.append("soak: the long variants of the fault tests run with --soak")
        command = [sys.executable, "-m", "pytest", *(words or shared_run())]
        status = subprocess.run(command, cwd=REPO, env=environ, check=False).returncode
        for line in left_out:
            print(f"left out - {line}")
        if frontend_status:
            print("the front end's tests failed; their output is above")
        sys.exit(status or frontend_status)


def compile_ahead() -> None:
    """Fill the kernels' cache while other things go on, so that no RM of a test begins to, once for each it kills."""
    from controlplane import kernels

    try:
        kernels.fill(kernels.cache_folder())
    except (OSError, subprocess.SubprocessError) as error:
        print(f"kernels could not be compiled ahead: {error}")


def shared_run() -> list[str]:
    """Options that let some processes share all tests: most of them wait for processes, disks and intervals."""
    return ["-n", str(min(PROCESSES_MAX, 1 + (os.cpu_count() or 1))), "--dist", "loadfile", "--no-loadscope-reorder"]


def own_settings() -> list[str]:
    """Settings that this process derived from HYDRA_HOME: the tests have a folder of their own."""
    from controlplane.embedded.home import Home

    home = Home.from_environment()
    known = home.secrets()
    own = home.environment(known, home.ports()) if known else {}
    return ["HYDRA_HOME", *(name for name, value in own.items() if os.environ.get(name) == value)]


def frontend_cannot() -> str:
    """Why the front end's tests cannot run here; empty when they can."""
    if not (FRONTEND / "package.json").exists():
        return "there is no frontend/package.json"
    if not shutil.which("node") or not shutil.which("npm"):
        return "Node.js and npm are not installed"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    major = version.lstrip("v").partition(".")[0]
    if not major.isdigit() or int(major) < NODE_MAJOR_MIN:
        return f"Node.js is {version or 'broken'}; {NODE_MAJOR_MIN} or newer is needed"
    return ""


def test_frontend(environ: dict[str, str]) -> int:
    install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    lock, done = FRONTEND / "package-lock.json", FRONTEND / "node_modules" / ".package-lock.json"
    if not done.exists() or done.stat().st_mtime < lock.stat().st_mtime:
        print("installing the front end's packages", flush=True)
        if subprocess.run(install, cwd=FRONTEND, env=environ, check=False).returncode:
            return 1
    return subprocess.run(["npm", "test"], cwd=FRONTEND, env=environ, stdin=subprocess.DEVNULL, check=False).returncode


def browser_cannot() -> str:
    if not importlib.util.find_spec("playwright"):
        return "playwright is not installed"
    from tests.browser.chromium import chromium

    if not chromium():
        return "no chromium on this host (on Debian: apt install chromium-headless-shell)"
    return ""
