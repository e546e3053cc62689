"""Every policy by stage and name, in one literal: no side effects on import, no ladders of names."""

from scheduler.core.snapshot import Fill

PLACEMENT = {
    "spread": Fill.SPREAD,
    "pack": Fill.PACK,
    "align": Fill.ALIGN,
    "first_fit": Fill.FIRST_FIT,
}

STAGES = {"placement": PLACEMENT}


class UnknownPolicy(ValueError):
    """No such policy; the text lists those there are."""


def check_name(stage: str, name: str) -> str:
    """``name``, if the stage has a policy of that name."""
    if name not in STAGES[stage]:
        raise UnknownPolicy(f"{stage} has no policy {name!r}; choose one of {', '.join(sorted(STAGES[stage]))}")
    return name
