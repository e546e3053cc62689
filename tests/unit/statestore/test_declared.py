"""What is kept of groups' declarations is bounded by what they declare."""

from controlplane.statestore.queries.jobs.declared import Declared, _Kept


def declaring(files: int) -> Declared:
    return Declared(frozenset(str(n) for n in range(files)), frozenset(), frozenset(), frozenset(), frozenset())


def test_those_least_asked_for_are_forgotten_when_together_they_declare_too_much() -> None:
    kept = _Kept(10)
    for key in ("a", "b", "c"):
        kept.put((key,), declaring(2))
    assert kept.get(("a",)) is not None
    kept.put(("d",), declaring(2))
    assert [kept.get((key,)) is not None for key in "abcd"] == [True, False, True, True]
    kept.put(("d",), declaring(2))
    assert kept.get(("a",), ("c",)) is not None, "what is put again counts once"
    kept.put(("fat",), declaring(50))
    assert [kept.get((key,)) for key in ("a", "c", "d", "fat")] == [None] * 4
    kept.put(("a",), declaring(0))
    assert kept.get(("none",), ("a",)) == declaring(0)
