"""What a rollout does next. Pure: what is known in, one decision out."""

from dataclasses import dataclass
from enum import StrEnum

STUCK_S = 60.0  # a stage that has not taken the version in by then has something wrong


class Action(StrEnum):
    WAIT = "wait"
    BEGIN = "begin"  # measure what was before, and tell the first stage
    SOAK = "soak"  # all told run it: watch from now on
    ADVANCE = "advance"  # tell the next stage
    COMPLETE = "complete"  # put it in force everywhere
    PAUSE = "pause"
    ROLL_BACK = "roll_back"  # put the old content in force again
    ROLLED_BACK = "rolled_back"


@dataclass(frozen=True, slots=True)
class RolloutStatus:
    """A rollout as it stands.

    stage: the one it is in, of ``stages``; soak_s: of that stage. in_stage_s,
    soaked_s: since its sub-clusters were told, and since all ran the version.
    behind: what does not run what it was told to, in words. breaches: of guards.
    """

    state: str
    stage: int
    stages: int
    soak_s: float
    in_stage_s: float = 0.0
    soaked_s: float = 0.0
    behind: tuple[str, ...] = ()
    breaches: tuple[str, ...] = ()
    rolls_back: bool = True  # on a breach; else it pauses


@dataclass(frozen=True, slots=True)
class StagingDecision:
    action: Action
    message: str = ""


def decide(s: RolloutStatus) -> StagingDecision:
    """What follows. Decided again from the same status it is the same, so that any number may ask."""
    match s.state:
        case "pending":
            return StagingDecision(Action.BEGIN, _stage(s, "is taking it in"))
        case "running":
            return _running(s)
        case "soaking":
            return _soaking(s)
        case "rolling_back" if not s.behind:
            return StagingDecision(Action.ROLLED_BACK)
    return StagingDecision(Action.WAIT)


def _running(s: RolloutStatus) -> StagingDecision:
    if not s.behind:
        return StagingDecision(Action.SOAK, _stage(s, f"runs it and is watched for {s.soak_s:g} s"))
    if s.in_stage_s >= STUCK_S:
        return _broken(s, f"after {s.in_stage_s:.0f} s it does not run the version yet: {'; '.join(s.behind)}")
    return StagingDecision(Action.WAIT)


def _soaking(s: RolloutStatus) -> StagingDecision:
    if s.breaches:
        return _broken(s, "; ".join(s.breaches))
    if s.soaked_s < s.soak_s or s.behind:
        if s.behind and s.soaked_s >= s.soak_s + STUCK_S:
            return _broken(s, f"it does not run the version any more: {'; '.join(s.behind)}")
        return StagingDecision(Action.WAIT)
    if s.stage + 1 < s.stages:
        return StagingDecision(Action.ADVANCE, _stage(s, "is taking it in", s.stage + 1))
    return StagingDecision(Action.COMPLETE, "all stages ran it and nothing was wrong: in force everywhere")


def _broken(s: RolloutStatus, why: str) -> StagingDecision:
    return StagingDecision(Action.ROLL_BACK if s.rolls_back else Action.PAUSE, _stage(s, why, colon=True))


def _stage(s: RolloutStatus, text: str, stage: int | None = None, colon: bool = False) -> str:
    number = (s.stage if stage is None else stage) + 1
    return f"stage {number} of {s.stages}{':' if colon else ''} {text}"
