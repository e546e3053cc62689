"""Random lives under faults: all that is promised holds, and a seed says everything."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from simulator.faults import life
from simulator.faults.bugs import BUGS
from simulator.faults.hunt import lives
from simulator.faults.life import LifeOutcome

ROOT = Path(__file__).resolve().parents[3]
PARTS = 40
SEEDS = 50  # a part
FIRST = 20  # that several tests look at
TELL = """
import django
django.setup()
from simulator.faults import life
print(*(life.run(seed).digest for seed in range(3)))
"""


@functools.cache
def lived(seed: int) -> LifeOutcome:
    """One of the first."""
    assert seed < FIRST
    return life.run(seed)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.faults) for part in range(1, PARTS))])
def test_whatever_happens_every_invariant_holds(part: int, soak: bool) -> None:
    seeds = range(part * SEEDS * (20 if soak else 1), (part + 1) * SEEDS * (20 if soak else 1))
    found = [*map(lived, seeds[:FIRST]), *lives(seeds[FIRST:])] if part == 0 else lives(seeds)
    broken = [str(outcome) for outcome in found if outcome.violation]
    assert not broken, f"{len(broken)} lives\n" + "\n\n".join(broken[:3])


def test_another_process_lives_the_same_life() -> None:
    """Neither the order of hashes nor anything of the process or the machine's clock matters."""
    variables = os.environ | {"PYTHONHASHSEED": "77", "DJANGO_SETTINGS_MODULE": "controlplane.settings"}
    told = subprocess.run(
        [sys.executable, "-c", TELL], cwd=ROOT, env=variables, capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == [lived(seed).digest for seed in range(3)]


def test_lives_differ_and_do_something() -> None:
    found = [lived(seed) for seed in range(FIRST)]
    assert len({outcome.digest for outcome in found}) == FIRST
    assert sum(outcome.containers for outcome in found) > 100
    steps = {line.split()[2] for outcome in found for line in outcome.trace if line.split()[1].isdecimal()}
    assert {"take_over", "crash_agent", "break_commit", "flush", "cut_network", "stall", "kill", "replace"} <= steps
    assert {"break_word", "break_take_over", "lose_store", "fill_redis", "crash_gpg"} <= steps


def test_a_failure_says_which_seed_which_step_and_what_came_before() -> None:
    with BUGS["attempt-kept"].planted():
        found = next(o for o in map(life.run, range(20)) if o.violation)
        again = life.run(found.seed)
    assert again == found
    assert again.rule == "every attempt has the next number"
    assert f"seed {found.seed}, step {found.step}: {found.violation}" in str(found)
    assert len(str(found).splitlines()) > 5
    assert not life.run(found.seed).violation


def test_the_command_tells_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("faults", "--seeds", "5")
    assert "5 of 5 lives end well" in capsys.readouterr().out
    call_command("faults", "--seeds", "4", "--from", "20", "--processes", "2")
    assert "4 of 4 lives end well" in capsys.readouterr().out
    call_command("faults", "--replay", "3")
    assert lived(3).digest in capsys.readouterr().out
    with BUGS["freed-twice"].planted(), pytest.raises(CommandError, match="broken: "):
        call_command("faults", "--seeds", "3")
    call_command("faults", "--planted", "freed-twice")
    with pytest.raises(CommandError, match="no planted bug"):
        call_command("faults", "--planted", "nobody")
