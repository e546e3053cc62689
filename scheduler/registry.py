"""Placement policies by the names that operators write."""

from scheduler.core.snapshot import Fill

PLACEMENT = {
    "spread": Fill.SPREAD,
    "pack": Fill.PACK,
    "align": Fill.ALIGN,
    "first_fit": Fill.FIRST_FIT,
}
