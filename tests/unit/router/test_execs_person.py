"""The person's end of an exec, which gives all its work up when one part of it has ended."""

import asyncio
from typing import Any

import pytest

from controlplane.router.execs.person import Person
from tests.patience import stretched


class Threads:
    async def start(self, *_: Any) -> None:
        """The node is told."""


@pytest.mark.parametrize("steps", range(6))
def test_it_stops_calling_its_node_when_the_end_comes_right_after_the_beginning(steps: int) -> None:
    async def lived() -> bool:
        person = Person.__new__(Person)
        person.runs, person.threads, person.begun = asyncio.Event(), Threads(), None  # type: ignore[assignment]
        calls = asyncio.create_task(person._calls())
        for _ in range(10):
            await asyncio.sleep(0)
        person.runs.set()
        for _ in range(steps):
            await asyncio.sleep(0)
        calls.cancel()
        return bool((await asyncio.wait({calls}, timeout=stretched(5)))[1])

    assert not asyncio.run(lived())
