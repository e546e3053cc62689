"""Compiled kernels decide what interpreted ones decide, and nothing is compiled in a round."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.compiled import compiled, interpret
from scheduler.core.snapshot import Snapshot
from scheduler.round import RoundPolicy
from tests.examples import examples
from tests.kernels import compile_kernels
from tests.machine import FACTOR
from tests.property.scheduler import test_scheduler_backfill as backfill
from tests.property.scheduler import test_scheduler_explain as explain
from tests.property.scheduler import test_scheduler_gif as gif
from tests.property.scheduler import test_scheduler_placement as placement

EXAMPLES, MANY = examples(150), examples(6_000)
pytestmark = [pytest.mark.kernels, pytest.mark.timeout(900 * FACTOR)]


@pytest.fixture(autouse=True)
def interpreted_afterwards() -> Iterator[None]:
    yield
    interpret()


def test_placement() -> None:
    seen = []

    @EXAMPLES
    @given(placement.rounds())
    def collect(drawn) -> None:
        seen.append((drawn, placement.play(*drawn)[1]))

    collect()
    compile_kernels()
    before = compiled()
    for drawn, interpreted in seen:
        placement.same(interpreted, placement.play(*drawn)[1])
    assert compiled() == before


def test_backfilling() -> None:
    seen = []

    @EXAMPLES
    @given(backfill.worlds(), backfill.policies)
    def collect(s: Snapshot, policy: RoundPolicy) -> None:
        seen.append((s, policy, backfill.flat(backfill.plan(s, policy))))

    collect()
    compile_kernels()
    before = compiled()
    for s, policy, interpreted in seen:
        assert backfill.flat(backfill.plan(s, policy)) == interpreted
    assert compiled() == before


def test_explaining() -> None:
    seen = []

    @examples(40)
    @given(explain.rounds())
    def collect(x: explain.Left) -> None:
        seen.append(x)

    collect()
    interpreted = [explain.said(x) for x in seen]
    assert any(interpreted)
    compile_kernels()
    assert [explain.said(x) for x in seen] == interpreted


def test_more_weight_is_never_less_over_many_sub_clusters() -> None:
    """What shows in one world of hundreds."""
    compile_kernels()
    before = compiled()

    @MANY
    @given(gif.worlds(resources=1), st.floats(1.1, 4.0))
    def check(w: gif.World, times: float) -> None:
        gif.never_less(w, times)

    check()
    assert compiled() == before
