"""The Celery task that starts runners. It only offers: the work is done by processes that give way to all else."""

import subprocess
import sys
from dataclasses import dataclass

import structlog
from celery import shared_task
from django.conf import settings

from controlplane.statestore.actions import simulationruns
from controlplane.statestore.actions.simulationruns import Claim

log = structlog.get_logger(__name__)
NICE = "10"  # below everything that serves


@dataclass(slots=True)
class _Runner:
    claim: Claim
    process: "subprocess.Popen[bytes]"


_runners: list[_Runner] = []


@shared_task(name="whatif.offer", ignore_result=True)
def offer() -> None:
    """Take back what dead runners had, and start runners for what waits, if there is room."""
    reap()
    simulationruns.recover()
    while claim := simulationruns.take():
        _runners.append(_Runner(claim, start(claim)))
        log.info("a simulation begins", simulation=claim.number)


def has_runners() -> bool:
    """Whether this process has started some whose ends it has not taken in."""
    return bool(_runners)


def start(claim: Claim) -> "subprocess.Popen[bytes]":
    """A process that ends with this one: it reads the end of its standard input."""
    command = ["nice", "-n", NICE, sys.executable, str(settings.BASE_DIR / "manage.py"), "simulate"]
    command += ["--run", str(claim.number), "--token", str(claim.token)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=settings.BASE_DIR)


def reap() -> None:
    """What has ended without a word is given to another runner at once."""
    for runner in [each for each in _runners if each.process.poll() is not None]:
        _runners.remove(runner)
        if runner.process.stdin is not None:
            runner.process.stdin.close()
        if runner.process.returncode and simulationruns.lost(runner.claim):
            log.warning("a runner died", simulation=runner.claim.number, status=runner.process.returncode)
