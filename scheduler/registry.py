"""Placement policies by the names that operators write."""

from scheduler.core.snapshot import Backfill, Fill

PLACEMENT = {
    "spread": Fill.SPREAD,
    "pack": Fill.PACK,
    "align": Fill.ALIGN,
    "first_fit": Fill.FIRST_FIT,
}

BACKFILL = {
    "none": Backfill.NONE,
    "easy": Backfill.EASY,
    "conservative": Backfill.CONSERVATIVE,
    "strict": Backfill.STRICT,
}
