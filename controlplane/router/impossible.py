"""What a submit is told of jobs that could never start, by the nodes and names there are: it is taken, and warned of.

Nodes are those of ``places``, at most 5 s old. Queries, however many jobs: two where they name nodes, else none.
"""

from collections.abc import Mapping, Sequence

from contract.jobspec import JobSpec
from contract.problems import FieldError
from controlplane.router import cluster
from controlplane.statestore.queries.subclusters import places
from scheduler.explain.impossible import SUGGESTED_MAX, Impossible, Suggestions, impossible
from scheduler.federation.feasible import GroupNeed, named_nodes

MOST = 20  # of a job


def warnings(specs: Sequence[JobSpec], needs: Mapping[int, Sequence[GroupNeed]]) -> dict[int, list[FieldError]]:
    """By position, what is to be said of a job; jobs of which nothing is are left out.

    Names that may have been meant are looked for where it is about one job.
    """
    every = [need for of in needs.values() for need in of]
    named = {name for need in every for name in (*need.nodes, *named_nodes(need.node_labels))}
    kinds = places.kinds({name for need in every for name in need.names}, cluster.view().partitions)
    nodes = places.registered(named)
    suggestions = Suggestions(places.names_like, SUGGESTED_MAX if len(specs) == 1 else 0)
    alike: dict[GroupNeed, list[Impossible]] = {}
    found: dict[int, list[FieldError]] = {}
    for no, of in needs.items():
        said: dict[FieldError, None] = {}
        for group, need in enumerate(of):
            if need not in alike:
                alike[need] = impossible(need, kinds, nodes, suggestions)[:MOST]
            said |= dict.fromkeys(_said(specs[no], group, each) for each in alike[need])
        if said:
            found[no] = list(said)[:MOST]
    return found


def _said(spec: JobSpec, group: int, each: Impossible) -> FieldError:
    if not each.field:  # the same of all groups
        return FieldError("master" if spec.master else "groups", each.message, each.remedy)
    at = "master" if spec.master else f"groups.{group}"
    return FieldError(f"{at}.{each.field}", each.message, each.remedy)
