"""The resolutions of history: how long each is kept, and of how many queues."""

import datetime as dt
from dataclasses import dataclass

from django.conf import settings

TOTAL = 0  # the step of totals since ever
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Level:
    """Windows of ``step_s`` seconds that stay for ``kept``. queues: how many have rows, the largest shares first."""

    step_s: int
    kept: dt.timedelta
    queues: int


def levels() -> tuple[Level, ...]:
    """From fine to coarse, as the settings say."""
    hydra = settings.HYDRA
    n = int(hydra["series_queues"])
    return (
        Level(10, dt.timedelta(hours=hydra["series_10s_hours"]), n),
        Level(60, dt.timedelta(days=hydra["series_1min_days"]), 5 * n),
        Level(600, dt.timedelta(days=hydra["series_10min_days"]), 25 * n),
    )


FINEST_S = 10


def window(at: dt.datetime, step_s: int) -> dt.datetime:
    """The beginning of the window that ``at`` lies in."""
    seconds = int((at - EPOCH).total_seconds())
    return EPOCH + dt.timedelta(seconds=seconds - seconds % step_s)
