"""What is said of names that nobody has: what may have been meant, and where all of them are."""

from difflib import SequenceMatcher, get_close_matches

from controlplane.accounts.models import User
from controlplane.router import cluster
from controlplane.statestore.models import SubCluster
from controlplane.statestore.queries.queues.sight import sight
from controlplane.statestore.queries.queues.standing import standing

SHOWN = 64  # characters of a name
FEW = 5
_AS_ALIKE = 0.02  # of the ratio: two names that differ less in it are both told
MOST = 2000  # names that are looked at


def sub_cluster(name: str) -> str:
    known = SubCluster.objects.exclude(state=SubCluster.State.DECOMMISSIONED).order_by("name")
    names = list(known.values_list("name", flat=True)[:MOST])
    few = ", ".join(names) if len(names) <= FEW else ""
    return _said("sub-cluster", name, names, f"there are: {few}" if few else "hydractl sub-clusters lists all")


def account(name: str) -> str:
    """For operators, who may see every account."""
    names = list(User.objects.order_by("username").values_list("username", flat=True)[:MOST])
    return _said("account", name, names, "hydractl account list shows all")


def queue(path: str) -> str:
    """Of the policy in force, for operators, who may see every queue."""
    return _said("queue", path, list(cluster.view().queues)[:MOST], "hydractl queues lists all of the policy in force")


def queue_seen(user: User, path: str, partition: str) -> str:
    """Why the account gets no answer about a queue in a partition: of what it sees, for whoever is no operator."""
    now = standing()
    if now is None:
        return "no policy is in force, so there are no queues"
    seen, at = sight(user, now.tree), now.tree.index.get(path)
    if at is None or not seen.see[at]:
        known = [now.tree.rows[row].path for row in seen.rows[:MOST]]
        return f"there is no such queue that you may see; {_meant(path, known, 'hydractl queues lists yours')}"
    if partition not in now.parts:
        return "there is no such partition"
    return "of this queue you may see the name alone"


def leaf(path: str, leaves: list[str]) -> str:
    """Of a policy that need not be in force."""
    return _said("leaf", path, leaves[:MOST], "the policy's leaves are queues without children")


def _said(what: str, name: str, known: list[str], otherwise: str) -> str:
    return f"there is no {what} {name[:SHOWN]!r}; {_meant(name, known, otherwise)}"


def _meant(name: str, known: list[str], otherwise: str) -> str:
    close = get_close_matches(name[:SHOWN], known, 2)
    alike = [SequenceMatcher(None, each, name[:SHOWN]).ratio() for each in close]
    meant = " or ".join(each for each, ratio in zip(close, alike, strict=True) if alike[0] - ratio < _AS_ALIKE)
    return f"did you mean {meant}?" if close else otherwise
