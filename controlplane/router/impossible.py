"""What a submit is told of jobs that could never start, by the nodes and names there are: it is taken, and warned of.

Nodes are those of ``places``, at most 5 s old. Queries, however many jobs: two where they name nodes, else none.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from contract.jobspec import JobSpec
from contract.problems import FieldError
from controlplane.router import cluster
from controlplane.statestore.queries.subclusters import places
from scheduler.explain.impossible import SUGGESTED_MAX, Impossible, Suggestions, impossible, nobody_has
from scheduler.federation.feasible import GroupNeed, NodeKinds, named_nodes
from wire.states import GroupState

MOST = 20  # of a job
NAMED = 3  # names of a group, where it is told why it waits
Json = dict[str, Any]


def warnings(specs: Sequence[JobSpec], needs: Mapping[int, Sequence[GroupNeed]]) -> dict[int, list[FieldError]]:
    """By position, what is to be said of a job; jobs of which nothing is are left out.

    Names that may have been meant are looked for where it is about one job.
    """
    every = [need for of in needs.values() for need in of]
    look = _Look.at(every, SUGGESTED_MAX if len(specs) == 1 else 0)
    alike: dict[GroupNeed, list[Impossible]] = {}
    found: dict[int, list[FieldError]] = {}
    for no, of in needs.items():
        said: dict[FieldError, None] = {}
        for group, need in enumerate(of):
            if need not in alike:
                alike[need] = impossible(need, *look)[:MOST]
            said |= dict.fromkeys(_said(specs[no], group, each) for each in alike[need])
        if said:
            found[no] = list(said)[:MOST]
    return found


def explained(found: Json) -> Json:
    """Why a job waits, where no node matches also by which names that nobody has: as a submit warns of them."""
    groups = [group for group in found["groups"] if GroupState[group["state"]] < GroupState.SUCCEEDED]
    if not any(_matches_none(group) for group in groups):
        return found
    needs = places.needs_of_jobs([found["job"]], cluster.view().partitions).get(found["job"], [])
    if len(needs) == len(groups):  # else some have ended meanwhile, and which need is whose is not known
        waits = [(group, need) for group, need in zip(groups, needs, strict=True) if _matches_none(group)]
        look = _Look.at([need for _, need in waits], SUGGESTED_MAX)
        for group, need in waits:
            _name(group["reason"], nobody_has(need, *look)[:NAMED])
    return found


class _Look(NamedTuple):
    """What ``impossible`` goes by."""

    kinds: NodeKinds
    nodes: set[str]
    suggestions: Suggestions

    @classmethod
    def at(cls, needs: Sequence[GroupNeed], suggested: int) -> Self:
        named = {name for need in needs for name in (*need.nodes, *named_nodes(need.node_labels))}
        kinds = places.kinds({name for need in needs for name in need.names}, cluster.view().partitions)
        return cls(kinds, places.registered(named), Suggestions(places.names_like, suggested))


def _matches_none(group: Json) -> bool:
    return bool(group["reason"]) and group["reason"]["code"] == "no_node_matches"


def _name(reason: Json, unknown: Sequence[Impossible]) -> None:
    """Say it with the reason's first limit, whose text is the reason's."""
    for message, remedy in dict.fromkeys((each.message, each.remedy) for each in unknown):
        said = FieldError("", message, remedy).said()
        reason["text"] += f" {said[0].upper()}{said[1:]}"
    reason["limits"][0]["text"] = reason["text"]


def _said(spec: JobSpec, group: int, each: Impossible) -> FieldError:
    if not each.field:  # the same of all groups
        return FieldError("master" if spec.master else "groups", each.message, each.remedy)
    at = "master" if spec.master else f"groups.{group}"
    return FieldError(f"{at}.{each.field}", each.message, each.remedy)
