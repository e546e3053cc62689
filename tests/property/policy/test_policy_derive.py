"""A document with overrides applied is valid, has what they ask for, and its siblings make room in proportion."""

import copy
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contract.policy import rules
from controlplane.policy.derive import Override, derive
from controlplane.policy.diff import diff
from controlplane.policy.documents import parse
from controlplane.policy.rows import flattened
from controlplane.statestore.capacities import R
from controlplane.statestore.errors import Invalid
from tests.examples import examples

Json = dict[str, Any]
NAMES = ("a", "b", "c", "d")
TENTHS = st.integers(0, 10).map(lambda n: n / 10)


@st.composite
def documents(draw: st.DrawFn) -> Json:
    """Two levels of queues; guarantees are shares, or amounts of memory within an amount."""
    queues: Json = {}
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True)):
        queues[name] = {"guaranteed": draw(TENTHS), "weight": draw(st.sampled_from([0.5, 1.0, 4.0]))}
        if draw(st.booleans()):
            queues[name]["guaranteed"] = {"memory_mib": draw(st.integers(2, 9)) * 1000, "gpus": draw(TENTHS)}
            below = st.one_of(TENTHS, st.integers(2, 3000).map(lambda n: {"memory_mib": n}))
            queues[name]["children"] = {n: {"guaranteed": draw(below)} for n in NAMES[: draw(st.integers(0, 3))]}
    document = {"queues": queues}
    assume(not list(rules.check(parse(document))))
    return document


@st.composite
def overridden(draw: st.DrawFn) -> tuple[Json, list[Override]]:
    document = draw(documents())
    paths = [path for _, path, _ in rules.walk(parse(document).queues)]
    found = []
    for path in draw(st.lists(st.sampled_from(paths), max_size=3, unique=True)):
        change = draw(
            st.one_of(
                st.integers(-90, 300).filter(bool).map(lambda n: {"percent": n}), TENTHS.map(lambda to: {"to": to})
            )
        )
        found.append(Override(path, "guaranteed", "", change, len(found)))
    return document, found


def guarantees(document: Json) -> dict[str, list[tuple[float, int]]]:
    """Per queue and resource: (share of the parent, units)."""
    found = {}
    for row in flattened(parse(document).queues):
        limit = row.capacities[""]["guaranteed"]
        found[row.path] = list(zip(limit["share"], limit["units"], strict=True))
    return found


@given(overridden())
@examples(200)
def test_what_comes_of_overrides_is_valid_and_as_they_say(case: tuple[Json, list[Override]]) -> None:
    document, overrides = case
    before = copy.deepcopy(document)
    try:
        made, refused = derive(document, overrides), []
    except Invalid as error:
        made, refused = None, error.errors
    assert document == before, "the given one is left as it is"
    if made is None:
        assert refused and all(e.field and e.message and e.remedy for e in refused)
        return
    wrong = [e for e in rules.check(parse(made)) if "add up" in e.message]
    assert not wrong or any(o.queue.count(".") == 1 and below(document, o.queue) for o in overrides), wrong
    old, new, named = guarantees(document), guarantees(made), {o.queue: o for o in overrides}
    for path, o in named.items():
        bounded = any(units or 0 < share < 1 for share, units in old[path])
        for (share, units), (share_now, units_now) in zip(old[path], new[path], strict=True):
            if "to" in o.change:
                assert (share_now, units_now) == (o.change["to"], 0)
            else:
                factor = 1 + o.change["percent"] / 100
                assert share_now == pytest.approx(1 if bounded and share == 1 else share * factor)
                assert units_now == int(units * factor)
    for path in old.keys() - named.keys() - {"root"}:
        up = path.rpartition(".")[0]
        beside = [o for o in overrides if o.queue.rpartition(".")[0] == up]
        for axis in range(R):
            (share, units), (share_now, units_now) = old[path][axis], new[path][axis]
            assert share_now <= share + 1e-9 and units_now <= units, "nobody gets more"
            assert beside or (share_now, units_now) == (share, units), "only siblings make room"


def below(document: Json, path: str) -> bool:
    return bool(document["queues"][path.split(".")[1]].get("children"))


@given(documents())
def test_no_override_no_change(document: Json) -> None:
    assert derive(document, []) == document


@given(st.lists(st.integers(1, 40), min_size=2, max_size=6), st.integers(1, 200))
def test_siblings_shrink_in_proportion_and_no_more_than_they_must(parts: list[int], percent: int) -> None:
    total = sum(parts)
    queues = {f"q{i}": {"guaranteed": n / total} for i, n in enumerate(parts)}
    raised = parts[0] / total * (1 + percent / 100)
    assume(raised < 1)
    made = derive({"queues": queues}, [Override("root.q0", "guaranteed", "", {"percent": percent})])
    shares = [made["queues"][name]["guaranteed"] for name in queues]
    assert 1 - 1e-5 < sum(shares) <= 1 + 1e-9
    factor = (1 - raised) / (1 - parts[0] / total)
    for n, share in zip(parts[1:], shares[1:], strict=True):
        assert share == pytest.approx(n / total * factor, abs=2e-6)


@pytest.mark.parametrize(("percent", "memory", "cores"), [(25, 2560, 0.625), (-20, 1638, 0.4)])
def test_a_percentage_of_a_maximum_leaves_alone_what_it_does_not_limit(percent: int, memory: int, cores: float) -> None:
    queues = {"a": {"maximum": {"memory_mib": "2 GiB", "vcores_milli": 0.5}}}
    made = derive({"queues": queues}, [Override("root.a", "maximum", "", {"percent": percent})])
    (row,) = [row for row in flattened(parse(made).queues) if row.path == "root.a"]
    limit = row.capacities[""]["maximum"]
    assert (limit["units"][0], limit["share"][1], limit["share"][2]) == (memory, cores, 1.0)


def test_what_a_percentage_cannot_raise_is_refused() -> None:
    for maximum, named in (({"vcores_milli": 0.9}, "vcores_milli"), (1.0, "memory_mib")):
        with pytest.raises(Invalid, match=named):
            derive({"queues": {"a": {"maximum": maximum}}}, [Override("root.a", "maximum", "", {"percent": 25})])


def test_where_there_is_room_nobody_shrinks() -> None:
    queues = {"a": {"guaranteed": 0.3}, "b": {"guaranteed": "40%"}}
    changes = diff(
        {"queues": queues}, derive({"queues": queues}, [Override("root.a", "guaranteed", "", {"to": "60%"})])
    )
    assert [c.text for c in changes] == ["root.a guaranteed 30 % -> 60 %"]


def test_partitions_and_units_written_out() -> None:
    queues = {
        "a": {"partitions": {"gpu": {"guaranteed": {"gpus": "1 gpu"}}}},
        "b": {"partitions": {"gpu": {"guaranteed": 0.5}}},
    }
    document = {"queues": queues, "partitions": {"gpu": {"nodes": "gpu"}}}
    made = derive(document, [Override("root.b", "guaranteed", "gpu", {"to": 0.75})])
    assert [c.text for c in diff(document, made)] == ["root.b guaranteed of partition gpu 50 % -> 75 %"]
    made = derive(document, [Override("root.a", "maximum", "gpu", {"to": {"gpus": "1 gpu"}})])
    assert made["queues"]["a"]["partitions"]["gpu"]["maximum"] == {"gpus": "1 gpu"}
    twice = derive(document, [Override("root.a", "guaranteed", "gpu", {"percent": 100})])
    assert twice["queues"]["a"]["partitions"]["gpu"]["guaranteed"]["gpus"] == 2


@pytest.mark.parametrize(("field", "to"), [("max_running_jobs", 5.0), ("max_running_jobs", 5), ("weight", 2.5)])
def test_a_count_is_written_as_a_whole_number(field: str, to: float) -> None:
    made = derive({"queues": {"a": {"guaranteed": 0.5}}}, [Override("root.a", field, "", {"to": to})])
    value = made["queues"]["a"][field]
    assert value == to and isinstance(value, int) is (field == "max_running_jobs")
