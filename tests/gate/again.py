"""Once more, alone and with fresh fixtures: what has missed its time may have been the machine's fault."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from tests.gate import lanes
from tests.gate.outcomes import Outcome

MAX = 3  # tests that ended by missing time; more of them is no accident
RECORD = "flaky.jsonl"


def flaky(parts: Iterable[lanes.Run], environ: Mapping[str, str], folder: Path) -> list[Outcome]:
    """Run what failed by missing time alone; what passes now is returned, and recorded."""
    missed = [outcome for part in parts for outcome in part.outcomes().failed() if outcome.missed]
    if len(missed) > MAX:
        return []
    passed = [outcome for outcome in missed if _passes(outcome, environ, folder)]
    with open(folder / RECORD, "a") as record:
        for outcome in passed:
            stall = asdict(outcome.stall) if outcome.stall else None
            record.write(json.dumps({"test": outcome.test, "stall": stall, "error": outcome.errors[0]}) + "\n")
    return passed


def _passes(outcome: Outcome, environ: Mapping[str, str], folder: Path) -> bool:
    print(f"once more, alone: {outcome.test} ({outcome.errors[0]})", flush=True)
    name = f"again-{len(list(folder.glob('again-*.log')))}"
    with open(folder / f"{name}.log", "w+") as log:
        if lanes.pytest(folder / f"{name}.jsonl", [outcome.test], environ, log)[0] == 0:
            return True
        log.seek(0)
        print(log.read()[-8000:])
        return False
