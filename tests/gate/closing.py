"""What a run ends with: failures, what passed only the second time, limits, the closing line, what was left out."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests import seeds
from tests.gate import lanes, promises
from tests.gate.outcomes import Outcome
from tests.gate.stages import FAULTS


def tell(parts: Sequence[lanes.Run], flaky: Sequence[Outcome]) -> int:
    """What became of the stages and of the tests that failed; the exit status of the whole."""
    failed = [outcome for part in parts for outcome in part.outcomes().failed() if outcome not in flaky]
    for part in parts:
        if _broke(part) or any(outcome in failed for outcome in part.outcomes().failed()):
            print(f"\n===== {part.stage.name} =====\n{part.failures()}")
    for part in parts:
        print(f"{part.stage.name}: {part.line()} in {part.took_s:.0f} s, {part.cpu_s:.0f} s of the processor")
    for outcome in failed:
        print(f"FAILED {outcome.test} - {outcome.errors[0]}")
    for outcome in flaky:
        print(f"FLAKY {outcome.test} - {outcome.stall} - {outcome.errors[0]}")
    broken = [part for part in parts if _broke(part)]
    for part in broken:
        print(f"BROKEN {part.stage.name}: pytest ended with status {part.status}")
    passed = any(part.outcomes().counts()["passed"] for part in parts) or flaky
    return 1 if failed or broken or not passed else 0


def sum_up(
    parts: Sequence[lanes.Run], flaky: Sequence[Outcome], folder: Path, environ: Mapping[str, str], left_out: list[str]
) -> None:
    """The limits, one line for all tests, and what was left out and why."""
    for promise in promises.measured(folder):
        print(promise.line())
    counts = [part.outcomes().counts() for part in parts]
    failed = sum(c["failed"] for c in counts) + sum(_broke(part) for part in parts) - len(flaky)
    passed, skipped = sum(c["passed"] for c in counts) + len(flaky), sum(c["skipped"] for c in counts)
    seed = f", seed {environ[seeds.NAME]}" if environ.get("HYDRA_SOAK") else ""
    print(f"machine factor {environ['HYDRA_TEST_FACTOR']}{seed}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    for line in [*left_out, *_reasons(parts, environ)]:
        print(f"left out - {line}")


def _reasons(parts: Iterable[lanes.Run], environ: Mapping[str, str]) -> list[str]:
    reasons: dict[str, int] = {}
    for part in parts:
        for outcome in part.outcomes().not_run():
            why = f"expected: {outcome.expected}" if outcome.expected else outcome.skipped
            reasons[why] = reasons.get(why, 0) + 1
    if not environ.get("HYDRA_SOAK"):
        reasons["the long variants run with --soak"] = 0
    marked = {part.stage.marked for part in parts}
    if FAULTS.marked not in marked and any(marked):
        reasons["the limits of promises run with --faults"] = 0
    return [f"{count} x {why}" if count > 1 else why for why, count in reasons.items()]


def _broke(part: lanes.Run) -> bool:
    """Whether pytest itself failed, and no test, nor the loading of one."""
    return part.status != 0 and not (part.status in {1, 2} and part.outcomes().failed())
