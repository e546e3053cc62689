"""A diff names everything that changes and nothing else, and its structure leads from one document to the other."""

import copy
import functools
import operator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contract.policy.components import stored
from contract.policy.subclusters import effective_components, own_components
from controlplane.policy.diff import Change, diff
from controlplane.policy.documents import parse
from controlplane.policy.rows import INHERITED, flattened
from controlplane.statestore.capacities import ALL, DEFAULT, NOTHING
from tests.examples import examples

Json = dict[str, Any]
NAMES = st.sampled_from(["a", "b", "c"])
PARTITIONS = ("gpu", "big")
SUB_CLUSTERS = ("east", "west")
SHARES = st.sampled_from([0, 0.1, "25%", 0.25, 0.5])
LIMITS = st.one_of(
    SHARES,
    st.fixed_dictionaries(
        {},
        optional={
            "memory_mib": st.sampled_from(["64 GiB", 65536, "1 MiB", 0.5]),
            "vcores_milli": st.sampled_from(["4 cores", "10%"]),
            "gpus": st.sampled_from(["1 gpu", 4, 1]),
        },
    ),
)
FIELDS = {
    "guaranteed": LIMITS,
    "maximum": LIMITS,
    "weight": st.sampled_from([0.5, 2.0]),
    "ordering": st.sampled_from(["fifo", "fair", "priority"]),
    "user_maximum": st.sampled_from([0.5, 1.0]),
    "max_running_jobs": st.sampled_from([0, 7]),
    "max_running_jobs_per_user": st.sampled_from([1, 2]),
    "max_live_jobs_per_user": st.sampled_from([0, 9]),
    "max_live_tasks_per_user": st.sampled_from([1, 1000]),
    "max_live_mib_per_user": st.sampled_from([1, 8]),
    "max_am_share": st.sampled_from([0.25, 1.0]),
    "max_priority": st.sampled_from([-5, 10]),
    "default_priority": st.sampled_from([-5, 0, 10]),
    "state": st.sampled_from(["running", "stopped"]),
    "stopped": st.booleans(),
    "preemptable": st.booleans(),
    "submit": st.lists(st.sampled_from(["ada", "bob", "role:tenant"]), max_size=2),
    "administer": st.lists(st.just("ada"), max_size=1),
    "open_to_all": st.booleans(),
    "default_partition": st.sampled_from(["", "gpu"]),
    "partitions": st.dictionaries(
        st.sampled_from(PARTITIONS), st.fixed_dictionaries({}, optional={"guaranteed": LIMITS, "maximum": LIMITS})
    ),
}


def queues(levels: int) -> st.SearchStrategy[Json]:
    more = {"children": queues(levels - 1)} if levels > 1 else {}
    return st.dictionaries(NAMES, st.fixed_dictionaries({}, optional=FIELDS | more), max_size=3)


COMPONENTS = st.fixed_dictionaries(
    {},
    optional={
        "placement": st.fixed_dictionaries({"policy": st.sampled_from(["spread", "pack"])}),
        "locality": st.fixed_dictionaries({"parameters": st.fixed_dictionaries({"node_wait_s": st.floats(0, 9)})}),
    },
)
DOCUMENTS = st.fixed_dictionaries(
    {"queues": queues(3)},
    optional={
        "components": COMPONENTS,
        "sub_clusters": st.dictionaries(
            st.sampled_from(SUB_CLUSTERS), st.fixed_dictionaries({}, optional={"components": COMPONENTS})
        ),
        "partitions": st.dictionaries(
            st.sampled_from(PARTITIONS), st.fixed_dictionaries({"nodes": st.sampled_from(["gpu", "!gpu"])})
        ),
    },
)


def effective(document: Json) -> dict[tuple[str, str], Any]:
    """Everything that holds: (queue, field) -> value, with what is inherited and what has a default."""
    parsed, found = parse(document), {}
    for row in flattened(parsed.queues):
        for name in (*INHERITED, "weight", "max_running_jobs", "leaf"):
            found[row.path, name] = getattr(row, name)
        for name in ("submit", "administer"):
            found[row.path, name] = sorted(set(getattr(row, name)))
        for partition in (DEFAULT, *PARTITIONS):
            limits = row.capacities.get(partition, {"guaranteed": NOTHING, "maximum": ALL})
            for side, limit in limits.items():
                found[row.path, f"partitions.{partition}.{side}" if partition else side] = limit
    for name, partition in parsed.partitions.items():
        found[f"partitions.{name}", "partition"] = partition.model_dump()
    for name, part in parsed.components.model_dump().items():
        found[f"components.{name}", "part"] = part
    for sub_cluster in SUB_CLUSTERS:
        for name, part in in_sub_cluster(document, sub_cluster).items():
            found[f"sub_clusters.{sub_cluster}.components.{name}", "part"] = part
    return found


def in_sub_cluster(document: Json, name: str) -> Json:
    whole, own = document.get("components"), own_components(document.get("sub_clusters"), name)
    return stored(effective_components(whole, whole, own)).model_dump()


def below(path: str, top: str) -> bool:
    return path == top or path.startswith(top + ".")


@given(DOCUMENTS)
def test_nothing_changes_between_a_document_and_itself(document: Json) -> None:
    assert diff(document, copy.deepcopy(document)) == []


@given(DOCUMENTS, DOCUMENTS)
@examples(300)
def test_every_value_that_changes_is_named_and_only_those(before: Json, after: Json) -> None:
    changes, old, new = diff(before, after), effective(before), effective(after)
    for c in changes:
        assert c.text and c.before != c.after and "  " not in c.text
    named = {(c.path, c.field) for c in changes}
    assert len(named) == len(changes), "each once"
    whole = [c.path for c in changes if c.field == "queue"]
    reached = {(c.path, c.field): c.queues for c in changes if c.field in INHERITED}
    for path, name in old.keys() | new.keys():
        was, now = old.get((path, name)), new.get((path, name))
        if was == now or path == "root" or name in ("part", "partition"):
            continue
        covered = any(below(path, top) for top in whole) or (path, name) in named
        ups = [".".join(path.split(".")[:n]) for n in range(2, path.count(".") + 1)]
        covered |= name in INHERITED and any(
            (up, name) in named and (old[up, name], new[up, name]) == (was, now) for up in ups
        )
        assert covered, (path, name, was, now)
        if name in INHERITED and not any(below(path, top) for top in whole):
            near = [up for up in [*ups, path] if (up, name) in reached]
            reached[near[-1], name] -= 1
    assert not any(reached.values()), "as many queues as it says"
    for c in changes:
        if not c.path.startswith(("partitions.", "components.", "sub_clusters.")) and c.field not in ("queue", "leaf"):
            assert old[c.path, c.field] != new[c.path, c.field]


@given(DOCUMENTS, DOCUMENTS)
@examples(300)
def test_the_changes_applied_lead_from_one_to_the_other(before: Json, after: Json) -> None:
    assert effective(applied(before, diff(before, after))) == effective(after)


def applied(document: Json, changes: list[Change]) -> Json:
    """The document with every change made to it, in what it says rather than in what it inherits."""
    made, old = copy.deepcopy(document), effective(document)
    for path, name in old:  # write out what holds, so that a value set above reaches nobody by chance
        if path != "root" and "." in path and (path, "leaf") in old and name in INHERITED:
            write(made, path, name, old[path, name])
    for c in sorted(changes, key=lambda c: c.path.count(".")):
        _apply(made, c, old)
    return made


def _apply(made: Json, c: Change, old: dict[tuple[str, str], Any]) -> None:
    if c.field == "queue":
        up, _, name = c.path.rpartition(".")
        holder = made["queues"] if up == "root" else node(made, up).setdefault("children", {})
        holder.pop(name, None) if c.after is None else holder.update({name: c.after})
    elif c.field == "partition":
        partitions = made.setdefault("partitions", {})
        name = c.path.removeprefix("partitions.")
        partitions.pop(name, None) if c.after is None else partitions.update({name: c.after})
    elif c.path.startswith(("components.", "partitions.", "sub_clusters.")):
        _write_part(made, c.path, c.field, c.after)
        for name in SUB_CLUSTERS if c.path.startswith("components.") else ():
            path = f"sub_clusters.{name}.{c.path}"
            kept = functools.reduce(operator.getitem, c.field.split("."), old[path, "part"])
            _write_part(made, path, c.field, kept if name in c.kept else c.after)
    elif c.field in INHERITED:
        todo = [c.path]
        while todo:
            path = todo.pop()
            if path in c.kept or old.get((path, c.field)) != c.before:
                continue
            write(made, path, c.field, c.after)
            todo += [p for p, n in old if n == "leaf" and p.rpartition(".")[0] == path]
    elif c.field != "leaf":
        write(made, c.path, c.field, c.after)


def _write_part(document: Json, path: str, field: str, value: Any) -> None:
    at = document
    for name in (*path.split("."), *field.split(".")[:-1]):
        at = at.setdefault(name, {})
    at[field.rsplit(".", maxsplit=1)[-1]] = value


def write(document: Json, path: str, field: str, value: Any) -> None:
    try:
        at = node(document, path)
    except KeyError:
        return  # a queue that goes
    *within, last = field.split(".")
    for name in within:
        at = at.setdefault(name, {})
    if last == "state":
        at.pop("stopped", None)
    at[last] = value


def node(document: Json, path: str) -> Json:
    at: Json = {"children": document["queues"]}
    for name in path.split(".")[1:]:
        at = at.get("children", {})[name]
    return at
