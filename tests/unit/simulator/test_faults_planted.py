"""Planted bugs: lives under faults find every one of them, within a bounded number of seeds."""

import pytest

from simulator.faults.bugs import BUGS
from simulator.faults.hunt import found_after


def test_there_are_enough_and_each_says_what_it_is() -> None:
    assert len(BUGS) >= 20
    assert all(bug.what.endswith(".") and "\n" not in bug.what for bug in BUGS.values())
    assert len({bug.what for bug in BUGS.values()}) == len(BUGS)


# Found in dozens of lives only.
RARE = {
    "not-published-again", "taken-without-ask", "signature-unchecked", "given-back-and-kept", "restart-adopts-nothing",
    "moved-and-counted", "limits-of-one", "left-and-used", "another-nodes-containers", "moved-past-limit",
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.faults if n in RARE else ()) for n in BUGS])
def test_a_planted_bug_is_found(name: str, record_property: pytest.FixtureRequest) -> None:
    bug = BUGS[name]
    place, real = bug.place, _real(bug.place)
    found = found_after(bug, range(bug.seeds))
    assert found is not None, f"{bug.what} Not found in {bug.seeds} lives."
    assert _real(place) is real
    record_property("seeds", found.seed + 1)  # type: ignore[operator]


def _real(place: tuple[object, object]) -> object:
    owner, name = place
    return owner[name] if isinstance(owner, dict) else getattr(owner, str(name))
