"""``manage.py demo``: a whole cluster on this host, and a job through it, as a tenant would do it."""

import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from client import Client, HydraError
from controlplane.embedded import cluster, shape, stack
from controlplane.embedded.home import Home, HomeError, read_json
from controlplane.embedded.management.commands.up import stay

REPO = Path(__file__).resolve().parents[4]
JOB = REPO / "examples" / "stdlib-census" / "job.yaml"
RESULT = "report"


class Command(BaseCommand):
    help = "Start a cluster, run the example job on it, show its result, and stay until Ctrl-C (or leave with --exit)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--exit", action="store_true", help="stop after the job and return its exit status")

    def handle(self, *args: Any, **options: Any) -> None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        home, console = Home.from_environment(), Console()
        started: stack.RunningStack | None = None
        try:
            started = self.start(home, console)
            url = started.url if started else str(read_json(home.state)["url"])
            tell_addresses(console, home, url)
            job_id, status = run_job(console, url, home.secrets()["tenant_password"])
        except (HomeError, HydraError) as problem:
            self.end(home, started, console)
            raise CommandError(str(problem)) from None
        except KeyboardInterrupt:
            self.end(home, started, console)
            sys.exit(130)
        if options["exit"] and started:
            self.end(home, started, console)
            tell_stopped(console, home, url, job_id)
            sys.exit(status)
        tell_next(console, url, job_id)
        if started:
            console.print("\nEverything keeps running until Ctrl-C.")
            stay(started.pid)
        console.print(f"\nThe cluster in {home.root} was running already and goes on.")
        sys.exit(status)

    def start(self, home: Home, console: Console) -> stack.RunningStack | None:
        """The stack this process started; None when one runs already."""
        began = time.monotonic()
        started = None
        wanted = shape.wanted(home)
        with console.status("starting") as status:
            if not home.running():
                started = stack.start(home, wanted.sub_clusters, wanted.nodes, False, status.update)
                shape.kept(home, wanted)
            serves = shape.serving(wanted)
            ready = cluster.wait_until_ready(serves.sub_clusters, serves.nodes, status.update)
        if not (serves.sub_clusters and serves.nodes):
            self.end(home, started, console)
            raise HomeError(
                "there is no node to run the job: manage.py down, then manage.py up --sub-clusters N --nodes N"
            )
        verb = "started" if started else "found a running cluster"
        console.print(f"{verb} in {time.monotonic() - began:.1f} s" + ("" if ready else "; not every node is up yet"))
        return started

    def end(self, home: Home, started: stack.RunningStack | None, console: Console) -> None:
        if started:
            with console.status("stopping") as status, suppress(HomeError):
                stack.stop(home, status.update)


def tell_addresses(console: Console, home: Home, url: str) -> None:
    secrets = home.secrets()
    console.print(f"\n  web        {url}", highlight=False)
    console.print(f"  API        {url}/api/v1/docs", highlight=False)
    console.print(f"  operator   operator / {secrets['operator_password']}", highlight=False, markup=False)
    console.print(f"  tenant     tenant / {secrets['tenant_password']}\n", highlight=False, markup=False)


def run_job(console: Console, url: str, password: str) -> tuple[int, int]:
    """Submit the example as the tenant, watch it, show its result. Returns the job's number and exit status."""
    with Client(url) as client:
        token = client.login("tenant", password).token
    with Client(url, token) as client:
        job = client.submit(JOB)
    console.print(f"job {job.id}: {JOB.relative_to(REPO)}", highlight=False)
    environ = os.environ | {"HYDRA_URL": url, "HYDRA_TOKEN": token, "PYTHONPATH": str(REPO)}
    status = hydractl(["wait", str(job.id)], environ)
    if status == 0:
        console.print()
        hydractl(["fetch", str(job.id), RESULT, "--stdout"], environ)
    return job.id, status


def hydractl(words: list[str], environ: dict[str, str]) -> int:
    return subprocess.run([sys.executable, "-m", "client", *words], env=environ, check=False).returncode


def tell_next(console: Console, url: str, job_id: int) -> None:
    python = Path(sys.executable)
    with suppress(ValueError):  # somewhere else: then in full
        python = python.relative_to(Path.cwd())
    console.print("\nWhere to look next", highlight=False)
    console.print(f"  the job in a browser    {url}/jobs/{job_id}", highlight=False)
    console.print(
        f"  log in from a shell     {python} -m client login {url} -u tenant", highlight=False, soft_wrap=True
    )
    console.print(f"  the job's tasks         {python} -m client tasks {job_id}", highlight=False)
    console.print("  what runs here          python3 manage.py status", highlight=False)
    console.print("  jobs to copy from       examples/", highlight=False)


def tell_stopped(console: Console, home: Home, url: str, job_id: int) -> None:
    """What is there once the stack is not."""
    console.print(f"\nThe cluster is stopped; the job and its logs are kept in {home.root}.", highlight=False)
    console.print("  start it again          python3 manage.py up --detach", highlight=False)
    console.print(f"  then the job            {url}/jobs/{job_id}", highlight=False)
    console.print("  remove it               delete that folder", highlight=False)
    console.print("  jobs to copy from       examples/", highlight=False)
