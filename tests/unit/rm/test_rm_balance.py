"""Who hands which sub-cluster to whom, and that one by one everybody comes to lead about as many."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from controlplane.rm.adapters.clock import HostClock
from controlplane.rm.driver.balance import SETTLED_S, UNEVEN, Terms, Worker, handover


def worker(name: str, *serves: str, age_s: float = 2 * SETTLED_S) -> Worker:
    return Worker(name, frozenset(serves) or None, age_s)


def led(**leads: int) -> list[tuple[int, str, str]]:
    holders = [name for name, count in leads.items() for _ in range(count)]
    return [(at, f"s{at}", holder) for at, holder in enumerate(holders, start=1)]


def test_the_last_goes_to_who_leads_fewest() -> None:
    workers = [worker("a"), worker("b"), worker("c")]
    assert handover("a", led(a=6, b=1), workers) == (6, "c")
    assert handover("b", led(a=6, b=1), workers) is None


def test_a_small_difference_stays() -> None:
    workers = [worker("a"), worker("b")]
    assert handover("a", led(a=UNEVEN - 1), workers) is None
    assert handover("a", led(a=UNEVEN), workers) is not None


def test_who_does_not_serve_it_has_just_come_or_does_not_report_gets_nothing() -> None:
    assert handover("a", led(a=6), [worker("a"), worker("b", "elsewhere")]) is None
    assert handover("a", led(a=6), [worker("a"), worker("b", "s2", "s4")]) == (4, "b")
    assert handover("a", led(a=6), [worker("a"), worker("b", age_s=SETTLED_S / 2)]) is None
    assert handover("a", led(a=6), [worker("a")]) is None


@given(st.lists(st.integers(0, 12), min_size=2, max_size=6))
def test_it_ends_with_nobody_far_ahead(counts: list[int]) -> None:
    rows = led(**{f"w{at}": count for at, count in enumerate(counts)})
    workers = [worker(f"w{at}") for at in range(len(counts))]
    for _ in range(sum(counts) + 1):
        moves = [(w.name, found) for w in workers if (found := handover(w.name, rows, workers))]
        if not moves:
            break
        _, (sub, to) = moves[0]
        rows = [(number, name, to if number == sub else holder) for number, name, holder in rows]
    leads = Counter(holder for _, _, holder in rows)
    assert max(leads[w.name] for w in workers) - min(leads[w.name] for w in workers) < UNEVEN


def test_what_was_handed_over_is_not_taken_back_at_once() -> None:
    terms = Terms(HostClock(), most=2)
    with terms.term(1) as first, terms.term(2):
        assert not terms.may_lead(3)  # as many as there are threads
        terms.resign(1, "b")
        assert first.ends.is_set() and first.successor == "b"
    assert not terms.may_lead(1)
    assert terms.may_lead(2)


def test_a_worker_from_which_it_comes_back_gets_none_for_a_while() -> None:
    terms, other = Terms(HostClock()), worker("b")
    with terms.term(1):
        assert not terms.avoids(other)
        terms.resign(1, "b")
    with terms.term(2):
        assert not terms.avoids(other)
    with terms.term(1):
        assert terms.avoids(other) and not terms.avoids(worker("c"))
    assert not terms.avoids(replace(other, up_s=-1.0)), "a new process has its chance"


def test_a_late_end_of_a_term_does_not_end_the_next() -> None:
    terms = Terms(HostClock())
    late = terms.term(1)
    late.__enter__()
    with terms.term(1) as next_one:
        late.__exit__(None, None, None)
        terms.resign(1, "b")
        assert next_one.ends.is_set()
