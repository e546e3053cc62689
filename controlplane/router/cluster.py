"""What a submit needs to know of the cluster, read at most every half second per process.

Sub-clusters with load, the queues of the policy in force, and how many live
jobs an account has. All of it may be that old; the home RM decides for good.
"""

import random
import threading
import time
from dataclasses import dataclass, field

from django.conf import settings

from controlplane.accounts.models import User
from controlplane.accounts.rights import is_operator, level_in
from controlplane.router.routing import POLICIES, Ask, Candidate, choose
from controlplane.statestore.actions.errors import FieldError, TooMany, Unavailable
from controlplane.statestore.models import Job, PolicyVersion, Queue, SubCluster
from controlplane.statestore.queries import federation
from wire.states import JobState

FRESH_S = 0.5
COUNT_FRESH_S = 2.0


@dataclass(slots=True)
class View:
    """One reading. ``queues``: path -> row."""

    read_at: float
    candidates: list[Candidate]
    queues: dict[str, Queue]
    routing: str


@dataclass(slots=True)
class _LiveCount:
    read_at: float
    n: int


@dataclass(slots=True)
class _State:
    lock: threading.Lock = field(default_factory=threading.Lock)
    view: View | None = None
    counts: dict[int, _LiveCount] = field(default_factory=dict)


_state = _State()


def forget() -> None:
    """Read everything anew next time."""
    with _state.lock:
        _state.view = None
        _state.counts.clear()


def view() -> View:
    """The current reading; one thread renews it, at most every ``FRESH_S``."""
    with _state.lock:
        if _state.view is None or time.monotonic() - _state.view.read_at > FRESH_S:
            _state.view = _read()
        return _state.view


def _read() -> View:
    version = PolicyVersion.objects.filter(active=True).first()
    queues = {q.path: q for q in Queue.objects.filter(version=version)} if version else {}
    component = (version.document.get("components") or {}).get("routing") if version else None
    name = (component or {}).get("policy", "least_loaded")
    found = [_candidate(s) for s in federation.sub_clusters()]
    return View(time.monotonic(), found, queues, name if name in POLICIES else "least_loaded")


def _candidate(s: federation.Json) -> Candidate:
    return Candidate(
        id=s["id"],
        name=s["name"],
        accepts=s["state"] == SubCluster.State.RUNNING,
        led=s["lease_ok"],
        nodes_up=s["nodes"]["up"],
        capacity=tuple(s["capacity"][a] for a in federation.AXES),  # type: ignore[arg-type]
        demand=[s["allocated"][a] + federation.whole(s["pending"].get(a)) for a in federation.AXES],
    )


def home(ask: Ask) -> Candidate:
    """The sub-cluster that takes this job; ``Unavailable`` when none takes any."""
    now = view()
    with _state.lock:
        chosen = choose(now.candidates, ask, POLICIES[now.routing](), random.random())
    if chosen is None:
        raise Unavailable("no sub-cluster takes jobs at the moment; an operator can resume one", retry_after_s=10)
    return chosen


def queue_error(user: User, path: str, field_name: str = "queue") -> FieldError | None:
    """What keeps this account from submitting to the queue, if anything."""
    queues = view().queues
    queue = queues.get(path)
    if not queues:
        return FieldError(field_name, "no policy is in force, so there are no queues", "ask an operator to publish one")
    allowed = queue is not None and (queue.open_to_all or bool(is_operator(user)) or level_in(user, path) is not None)
    if queue is None or not allowed:
        return FieldError(field_name, f"there is no queue {path!r} that you may use", "GET /api/v1/queues lists yours")
    if not queue.leaf:
        return FieldError(field_name, f"{path!r} has queues below it", "name one of those")
    if queue.stopped:
        return FieldError(field_name, f"{path!r} takes no new jobs", "use another queue, or ask an operator")
    return None


def claim_live_jobs(user: User, n: int) -> None:
    """``TooMany`` when the account would have more live jobs than it may; counted every two seconds, so roughly."""
    most = int(settings.HYDRA["max_live_jobs_per_user"])
    with _state.lock:
        count = _state.counts.get(user.pk)
        if count is None or time.monotonic() - count.read_at > COUNT_FRESH_S:
            live = Job.objects.filter(owner_id=user.pk, state__lt=JobState.SUCCEEDED)[: most + 1].count()
            count = _state.counts[user.pk] = _LiveCount(time.monotonic(), live)
        if count.n + n > most:
            raise TooMany(f"you have {count.n} live jobs and may have {most}; wait for some to end", retry_after_s=10)
        count.n += n
