"""Which size would have done for what attempts used, and in which words."""

from typing import Any

import pytest

from controlplane.statestore.queries.jobs.usage import better

ASKED = {"memory_mib": 1024, "vcores_milli": 1000}
USED = ASKED | {"measured": 3, "timed": 3, "ran_out": 0, "peak_memory_mib": 100, "p95_vcores_milli": 500}
BOTH = "128 MiB of memory instead of 1,024 and 0.65 cores instead of 1 would have done, with a quarter to spare"


@pytest.mark.parametrize(
    ("more", "size", "words"),
    [
        ({}, {"memory_mib": 128, "vcores_milli": 650}, BOTH),
        (
            {"timed": 2},
            {"memory_mib": 128},
            "128 MiB of memory instead of 1,024 would have done, with a quarter to spare",
        ),
        ({"measured": 2}, {}, "too few attempts to say"),
        ({"peak_memory_mib": 900, "p95_vcores_milli": 970}, {}, "it fits"),
        ({"peak_memory_mib": 614, "p95_vcores_milli": 600}, {"memory_mib": 768, "vcores_milli": 750}, "768 MiB"),
        ({"peak_memory_mib": 1, "p95_vcores_milli": 1}, {"memory_mib": 32, "vcores_milli": 50}, "32 MiB"),
        ({"ran_out": 1, "measured": 1}, {"memory_mib": 1536}, "1 attempt ran out: ask for 1,536 MiB of memory"),
        ({"ran_out": 2, "memory_mib": 100}, {"memory_mib": 192}, "2 attempts ran out: ask for 192 MiB of memory"),
    ],
)
def test_a_size_that_would_do_is_told_where_it_is_worth_a_change(
    more: dict[str, Any], size: dict[str, int], words: str
) -> None:
    found, said = better(USED | more)
    assert found == size and said.startswith(words)
