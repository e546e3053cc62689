"""Which sub-clusters could hold a job, against a brute-force oracle over single nodes."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.nodeselection import Partition, partition_of_node, usable_partitions
from scheduler.explain.impossible import Suggestions, impossible
from scheduler.federation.feasible import GroupNeed, NodeKind, NodeKinds, Verdict, best
from wire import labels

SUBS = (1, 2, 3)
PARTITIONS = [
    Partition("fast", "disk == ssd && node != n1", True),
    Partition("shared", "zone == b || node == n2", False),
]
EXPRESSIONS = (
    "", "disk == ssd", "disk == ssd && zone in (a, b)", "!gpu", "node == n3", "node != n3 && disk == ssd",
    "node in (n1, n5)", "rack == r1", "zone == c || rack == r0",
)  # fmt: skip


@st.composite
def nodes(draw: st.DrawFn) -> list[NodeKind]:
    """Up to eight nodes, each by itself."""
    found = []
    for at in range(draw(st.integers(0, 8))):
        own = {
            "disk": draw(st.sampled_from(("ssd", "hdd"))),
            "zone": draw(st.sampled_from("ab")),
            **({"gpu": "true"} if draw(st.booleans()) else {}),
        }
        size = draw(st.sampled_from(((4, 4, 0), (8, 2, 1), (2, 8, 2))))
        found.append(NodeKind(draw(st.sampled_from(SUBS)), f"n{at}", draw(st.sampled_from(("r0", "r1"))), own, size))
    return found


needs = st.builds(
    GroupNeed,
    count=st.integers(1, 12),
    shape=st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 2)),
    gang=st.booleans(),
    node_labels=st.sampled_from(EXPRESSIONS),
    strict=st.booleans(),
    nodes=st.lists(st.sampled_from(("n0", "n4", "gone")), max_size=2).map(tuple),
    racks=st.lists(st.sampled_from(("r0", "r9")), max_size=1).map(tuple),
    partition=st.sampled_from(("", "fast", "shared")),
)


def as_kinds(single: list[NodeKind], names: frozenset[str], most: int = 10**6) -> NodeKinds:
    """The nodes as they are told: those alike together, up to so many kinds; those that somebody names by name."""
    always = frozenset({"n1", "n2"})  # partitions speak of them
    counts = Counter(
        (n.sub_cluster, n.name if n.name in always else "", n.rack, frozenset((n.labels or {}).items()), n.capacity)
        for n in single
    )
    told, rest = [], []
    for at, ((sub, name, rack, own, size), count) in enumerate(counts.items()):
        kind = NodeKind(sub, name, rack, dict(own), size, count)
        (told if at < most else rest).append(kind)
    for sub in {kind.sub_cluster for kind in rest}:
        own_rest = [kind for kind in rest if kind.sub_cluster == sub]
        size = tuple(max(amounts) for amounts in zip(*(kind.capacity for kind in own_rest), strict=True))
        told.append(NodeKind(sub, "", "", None, size, sum(kind.number for kind in own_rest)))
    named = [n for n in single if n.name in names - always]
    kinds = NodeKinds(told, PARTITIONS)
    return kinds.with_names(named) if named else kinds


def oracle(single: list[NodeKind], need: GroupNeed, sub: int) -> bool:
    """Whether empty nodes of the sub-cluster hold what the group wants at once, one node after another."""
    of, test = partition_of_node(PARTITIONS), labels.parse(need.node_labels)
    number = {"fast": 0, "shared": 1}.get(need.partition, 2)
    held = 0
    for n in single:
        own = n.labels or {}
        named = not need.strict or not (need.nodes or need.racks) or n.name in need.nodes or n.rack in need.racks
        usable = test(labels.of_node(own, n.name, n.rack)) and named
        if n.sub_cluster != sub or not usable or of(n.name, n.rack, own) not in usable_partitions(PARTITIONS, number):
            continue
        free = list(n.capacity)
        while held < need.count and all(f >= a for f, a in zip(free, need.shape, strict=True)):
            free = [f - a for f, a in zip(free, need.shape, strict=True)]
            held += 1
    return held >= (need.count if need.gang else 1)


@given(single=nodes(), wanted=st.lists(needs, min_size=1, max_size=3))
def test_feasible_is_what_placing_on_empty_nodes_finds(single: list[NodeKind], wanted: list[GroupNeed]) -> None:
    names = frozenset().union(*(need.names for need in wanted))
    verdicts = as_kinds(single, names).verdicts(wanted, SUBS)
    for sub in SUBS:
        held = sum(oracle(single, need, sub) for need in wanted)
        assert (verdicts[sub].held, verdicts[sub].groups) == (held, len(wanted))
        assert verdicts[sub].feasible == (not verdicts[sub].why)


@given(single=nodes(), need=needs, most=st.integers(0, 3))
def test_beyond_the_bound_of_kinds_nothing_is_said_to_be_impossible_that_is_not(
    single: list[NodeKind], need: GroupNeed, most: int
) -> None:
    told = as_kinds(single, need.names, most).verdicts([need], SUBS)
    assert all(told[sub].feasible for sub in SUBS if oracle(single, need, sub))


def test_it_says_what_a_sub_cluster_lacks() -> None:
    kinds = NodeKinds([NodeKind(1, "", "r", {"disk": "ssd"}, (4096, 4000, 0), 2)])

    def why(**need: object) -> str:
        return kinds.verdicts([GroupNeed(**({"count": 1, "shape": (1, 1, 0)} | need))], (1, 2))[1].why  # type: ignore[arg-type]

    assert why() == ""
    assert why(node_labels="gpu") == "none of its nodes matches 'gpu'"
    assert why(strict=True, nodes=("x",)) == "none of its nodes is among those it names"
    large = "of the nodes it may use there the largest has 4,096 MiB of memory, asked 10,000"
    assert why(shape=(10_000, 1, 0)) == large
    assert why(shape=(1, 1, 2)) == "of the nodes it may use there the largest has 0 GPUs, asked 2"
    assert why(count=3, gang=True, shape=(3000, 1, 0)) == "it needs 3 at once, and all of its nodes together hold 2"
    assert kinds.verdicts([GroupNeed(1, (1, 1, 0))], (2,))[2].why == "it has no node in service"


def test_the_best_are_those_that_hold_most_groups() -> None:
    assert best({1: Verdict(1, 2), 2: Verdict(2, 2), 3: Verdict(2, 2)}) == {2, 3}
    assert best({1: Verdict(0, 2), 2: Verdict(0, 2)}) == {1, 2}


@given(single=nodes(), need=needs)
def test_what_can_never_start_is_said_and_nothing_else(single: list[NodeKind], need: GroupNeed) -> None:
    kinds = as_kinds(single, need.names)
    found = impossible(need, kinds, {node.name for node in single}, Suggestions(lambda name: [n.name for n in single]))
    places = [each for each in found if each.field.startswith(("locality.nodes", "locality.racks"))]
    can = any(verdict.feasible for verdict in kinds.verdicts([need], SUBS).values())
    assert bool(found) >= (not can), "whoever cannot start is told why"
    assert found == places or not can, "who can is told of names that nobody has, and of nothing else"
    assert all(each.message and each.remedy for each in found)


def test_nodes_that_would_do_but_for_their_partition_are_told_with_it() -> None:
    kinds = NodeKinds(
        [
            NodeKind(1, "", "r", {"disk": "ssd", "gpu": "a"}, (8, 8, 0), 2),
            NodeKind(1, "", "r", {"zone": "b"}, (8, 8, 0)),
        ],
        PARTITIONS,
    )

    def told(**need: str) -> list[tuple[str, str, str]]:
        found = impossible(GroupNeed(1, (1, 1, 0), **need), kinds, (), Suggestions(lambda name: []))  # type: ignore[arg-type]
        return [(each.field, each.message, each.remedy) for each in found]

    outside = "it looks for nodes outside of exclusive partitions, and 2 nodes that match are in partition 'fast'"
    assert told(node_labels="gpu == a") == [("partition", outside, "give the group partition: fast")]
    within = "it looks for nodes in partition 'fast', and the node that matches is in partition 'shared'"
    assert told(node_labels="zone == b", partition="fast") == [
        ("partition", within, "give the group partition: shared")
    ]
    assert told(partition="fast") == [], "it selects none, and there are some"
    assert told(node_labels="gpu == c")[0][1] == "no node has gpu == 'c'"
