"""What the runners of simulations write: each change only where the row still has their token.

A run that was cancelled has lost its token, and one whose runner fell silent
gets another; the old runner's writes then find no row.
"""

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now

from controlplane.statestore.models import Simulation

from .simulations import RUNNING_MOST, turn

STALE_S = 20.0  # a runner that is silent for so long has died
ATTEMPTS_MOST = 2
LOST = "its runner ended twice without a result, perhaps for want of memory; ask for a shorter window"
State = Simulation.State


@dataclass(frozen=True, slots=True)
class Claim:
    """A row that this runner may write."""

    number: int
    token: uuid.UUID

    def row(self) -> "QuerySet[Simulation]":
        return Simulation.objects.filter(pk=self.number, token=self.token, state=State.RUNNING)


def waiting() -> bool:
    return Simulation.objects.filter(state=State.QUEUED).exists()


def take() -> Claim | None:
    """The oldest that waits, of accounts of which the fewest run; none where enough run already."""
    if not waiting():
        return None
    with transaction.atomic():
        turn()
        if Simulation.objects.filter(state=State.RUNNING).count() >= RUNNING_MOST:
            return None
        theirs = Simulation.objects.filter(state=State.RUNNING, requested_by=OuterRef("requested_by"))
        running = theirs.values("requested_by").annotate(n=Count("pk")).values("n")
        waiting_now = Simulation.objects.filter(state=State.QUEUED).annotate(n=Coalesce(Subquery(running), 0))
        number = waiting_now.order_by("n", "pk").values_list("pk", flat=True).first()
        if number is None:
            return None
        claim = Claim(number, uuid.uuid4())
        taken = Simulation.objects.filter(pk=number, state=State.QUEUED).update(
            state=State.RUNNING, token=claim.token, beat_at=Now(), started_at=Now(), attempts=F("attempts") + 1,
            progress=0.0, simulated_s=0.0,
        )  # fmt: skip
    return claim if taken else None


def beat(claim: Claim, **columns: Any) -> bool:
    """Say that the runner lives, and what else it knows; False when the row is no longer its."""
    return bool(claim.row().update(beat_at=Now(), **columns))


def finish(claim: Claim, result: dict[str, Any], page: bytes, sample: float) -> bool:
    """Keep the answer; False when nobody wants it any more."""
    return bool(
        claim.row().update(
            state=State.DONE, result=result, page=page, sample=sample, progress=1.0, ended_at=Now(), token=None
        )
    )


def fail(claim: Claim, message: str) -> bool:
    return bool(claim.row().update(state=State.FAILED, message=message, ended_at=Now(), token=None))


def give_back(claim: Claim) -> bool:
    """The runner is told to stop: another one begins anew, and this attempt does not count."""
    return bool(claim.row().update(state=State.QUEUED, token=None, attempts=F("attempts") - 1))


def lost(claim: Claim) -> bool:
    """The runner has died: once more, then not again."""
    return _again(claim.row())


def recover() -> bool:
    """Take the rows back whose runners have fallen silent."""
    silent = Now() - dt.timedelta(seconds=STALE_S)
    return _again(Simulation.objects.filter(state=State.RUNNING, beat_at__lt=silent))


def _again(rows: "QuerySet[Simulation]") -> bool:
    more = rows.filter(attempts__lt=ATTEMPTS_MOST).update(state=State.QUEUED, token=None)
    over = rows.filter(attempts__gte=ATTEMPTS_MOST).update(state=State.FAILED, message=LOST, ended_at=Now(), token=None)
    return bool(more or over)
