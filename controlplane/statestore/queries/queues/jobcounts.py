"""How many jobs each queue has, whole subtrees."""

import numpy as np
from django.db.models import Count

from controlplane.statestore.models import Job
from controlplane.statestore.queries.ownuse import JobCounts
from wire.states import JobState

from .tree import PolicyTree


def job_counts(tree: PolicyTree) -> np.ndarray:
    """(q, 2) int64, columns as ``JobCounts``. One query."""
    counts = np.zeros((len(tree.rows), len(JobCounts._fields)), np.int64)
    live = Job.objects.filter(state__lt=JobState.SUCCEEDED).values_list("queue", "state").annotate(n=Count("id"))
    for path, state, n in live.order_by():
        if path in tree.index:
            counts[tree.index[path]] += JobCounts(n, n if state == JobState.RUNNING else 0)
    return tree.hierarchy.subtree_sums(counts)
