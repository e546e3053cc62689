"""Words for a tenant in a queue that is open to all."""

from typing import Any

from controlplane.statestore.queries.queues.cells import RULES
from controlplane.statestore.queries.queues.openqueue import OwnStanding, told
from tests.amounts import vector


def own(**more: Any) -> OwnStanding:
    amounts = {
        "used": vector(1024, 1000), "user_limit": vector(4096, 4000),
        "maximum": vector(8192, 8000),
    }  # fmt: skip
    return OwnStanding(**{"ordering": "fifo", "running_jobs": 1, "max_running_jobs": None, **amounts, **more})


def test_it_says_who_goes_first_and_what_one_may_hold() -> None:
    assert told(own()) == [
        "Everybody may submit to it, and all share what it may use: the jobs that were submitted first go first.",
        "You may hold 4 GiB of memory and 4 cores of it at most, and hold 1 GiB of memory and 1 core.",
        "Nothing of yours waits in it.",
    ]
    assert "hold nothing." in told(own(used=vector()))[1]
    assert told(own(used=vector(4096, 1000)))[1].endswith("1 core: no more can start.")
    assert "No limit of a single user" in told(own(user_limit=vector(8192, 8000)))[1]


def test_it_says_how_many_jobs_may_run_and_which_places_are_full() -> None:
    said = told(own(max_running_jobs=1, full=("east", "north", "west")))
    assert said[2] == "At most 1 of your jobs run at once, and 1 do: the next starts when one ends."
    assert said[3] == "east, north and west are full now."
    assert told(own(max_running_jobs=3))[2] == "At most 3 of your jobs run at once, and 1 do."
    assert told(own(full=("west",)))[2] == "west is full now."


def test_every_rule_has_its_words_and_none_has_a_number() -> None:
    for rule in RULES:
        *_, last = told(own(waits={"west": rule}))
        assert "west" in last and not any(letter.isdigit() for letter in last)
