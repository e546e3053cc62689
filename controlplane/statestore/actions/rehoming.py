"""New homes for the jobs of a sub-cluster that is lost or left: one transaction, under its own fence.

What has ended, runs and waits elsewhere stays as it is; only where the job
master lives changes. Whoever calls has the sub-cluster's lease, so that nobody
else writes for it, and remembers nothing of these jobs afterwards.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import psycopg

from controlplane.statestore.models import Intent, SubCluster
from controlplane.statestore.resourcecolumns import per_axis
from scheduler.lifecycle.guest import UNLOWERED
from wire.resources import Amounts, amounts
from wire.states import TERMINAL, NodeState

# What counts is silence that was watched: after a control plane was down, every lease has run out long ago.
_WATCH = """
UPDATE statestore_lease
   SET silent_since = CASE WHEN expires_at > clock_timestamp() THEN NULL
                           WHEN silent_seen > clock_timestamp() - make_interval(secs => %(gap)s) THEN silent_since
                           ELSE clock_timestamp() END,
       silent_seen = CASE WHEN expires_at > clock_timestamp() THEN NULL ELSE clock_timestamp() END
 WHERE epoch > 0 AND (silent_since IS NOT NULL OR expires_at IS NULL OR expires_at < clock_timestamp())
"""
# Sub-clusters that nobody has led for a while and that have jobs or are not known to be lost; and how many are led.
_SILENT = f"""
SELECT s.id, s.name, EXISTS (SELECT FROM statestore_job j WHERE j.home_id = s.id AND j.state < {TERMINAL}),
       ARRAY(SELECT n.id FROM statestore_node n WHERE n.sub_cluster_id = s.id AND n.state < {NodeState.LOST})
  FROM statestore_subcluster s JOIN statestore_lease l ON l.sub_cluster_id = s.id
 WHERE s.state = ANY(%(states)s) AND l.silent_since <= clock_timestamp() - make_interval(secs => %(after)s)
   AND (s.state <> 'lost' OR EXISTS (SELECT FROM statestore_job j WHERE j.home_id = s.id AND j.state < {TERMINAL}))
"""
_LED = """
SELECT count(*) FILTER (WHERE l.expires_at > clock_timestamp() AND l.holder <> ''), count(*)
  FROM statestore_subcluster s JOIN statestore_lease l ON l.sub_cluster_id = s.id WHERE s.state = ANY(%(states)s)
"""
_JOBS = f"""
SELECT j.id, j.name, j.queue, j.owner_id, {per_axis("sum(g.{0} * g.left)::bigint")}
  FROM statestore_job j, LATERAL (
       SELECT {per_axis("{0}")}, count - succeeded - failed - killed AS left
         FROM statestore_taskgroup WHERE job_id = j.id) g
 WHERE j.home_id = %s AND j.state < {TERMINAL}
 GROUP BY j.id ORDER BY j.id
"""
# As light a lock as changes them: what others write of these jobs meanwhile refers to their rows.
_STILL = f"""
SELECT id FROM statestore_job WHERE id = ANY(%s) AND home_id = %s AND state < {TERMINAL}
 ORDER BY id FOR NO KEY UPDATE
"""
_DRAINING = "SELECT 1 FROM statestore_subcluster WHERE id = %s AND state = 'draining' FOR KEY SHARE"
# Who leaves for good at this moment takes none.
_STAY = "SELECT id FROM statestore_subcluster WHERE id = ANY(%s) AND state = 'running' ORDER BY id FOR KEY SHARE"
# Not yet taken in by an RM, a job has epoch 0 and its submit is still to be carried out.
_MOVE = """
UPDATE statestore_job j SET home_id = v.home, epoch = least(j.epoch, 1)
  FROM unnest(%(jobs)s::bigint[], %(homes)s::smallint[]) AS v(id, home) WHERE j.id = v.id
"""
# Asks first, and as rounds lock them: who started some has told of it before, and who starts more knows the new home.
_FOLLOW = (
    """
SELECT 1 FROM statestore_ask WHERE job_id = ANY(%(jobs)s) ORDER BY job_id, group_no, sub_cluster_id FOR UPDATE
""",
    # At the new home nothing is away any more; the others are to read who the home is now.
    """
DELETE FROM statestore_ask a USING statestore_job j
 WHERE a.job_id = ANY(%(jobs)s) AND j.id = a.job_id AND a.sub_cluster_id = j.home_id
""",
    "UPDATE statestore_ask SET version = version + 1 WHERE job_id = ANY(%(jobs)s)",
    """
UPDATE statestore_intent i SET sub_cluster_id = j.home_id FROM statestore_job j
 WHERE i.job_id = ANY(%(jobs)s) AND j.id = i.job_id AND i.sub_cluster_id = %(sub)s AND i.kind <> 'containers'
""",
    """
UPDATE statestore_report r SET home_id = j.home_id FROM statestore_job j
 WHERE r.job_id = ANY(%(jobs)s) AND j.id = r.job_id
""",
    # What still runs in the old home is its guest from now on.
    """
INSERT INTO statestore_ask (job_id, group_no, sub_cluster_id, base, target, taken, wish, work, halt, version,
    acknowledged, since)
SELECT DISTINCT job_id, group_no, %(sub)s, 0, 0, 0, %(unlowered)s, ''::bytea, false, 1, 0, clock_timestamp()
  FROM statestore_container WHERE sub_cluster_id = %(sub)s AND job_id = ANY(%(jobs)s) ON CONFLICT DO NOTHING
""",
    # Until a leader has counted anew, others count the jobs here and there by their rows.
    """
DELETE FROM statestore_admissionledger WHERE sub_cluster_id = %(sub)s OR sub_cluster_id = ANY(%(homes)s::smallint[])
""",
    "DELETE FROM statestore_admissioncount WHERE sub_cluster_id = %(sub)s AND (owner >= 0 OR NOT %(emptied)s)",
    """
INSERT INTO statestore_jobevent (job_id, at, kind, message)
SELECT v.id, clock_timestamp(), 'rehomed',
       'its home ' || a.name || ' ' || %(why)s || '; ' || b.name || ' is its home now'
  FROM unnest(%(jobs)s::bigint[], %(homes)s::smallint[]) AS v(id, home)
  JOIN statestore_subcluster a ON a.id = %(sub)s JOIN statestore_subcluster b ON b.id = v.home
""",
    """
INSERT INTO statestore_intent (sub_cluster_id, kind, payload, created_at)
SELECT DISTINCT home, %(adopt)s, '{}'::jsonb, clock_timestamp() FROM unnest(%(homes)s::smallint[]) AS v(home)
""",
)
# Lost ones that an RM leads again and that have a node up.
_RETURNED = f"""
SELECT s.id FROM statestore_subcluster s JOIN statestore_lease l ON l.sub_cluster_id = s.id
 WHERE s.state = 'lost' AND l.expires_at > clock_timestamp() AND l.holder <> %s
   AND EXISTS (SELECT FROM statestore_node n WHERE n.sub_cluster_id = s.id AND n.state = {NodeState.UP})
"""
# What was written for a former home while its jobs moved.
_STRAYS = (
    """
UPDATE statestore_report r SET home_id = j.home_id FROM statestore_job j, statestore_lease l
 WHERE j.id = r.job_id AND j.home_id <> r.home_id AND l.sub_cluster_id = r.home_id
   AND (l.expires_at IS NULL OR l.expires_at < clock_timestamp())
""",
    """
UPDATE statestore_intent i SET sub_cluster_id = j.home_id FROM statestore_job j, statestore_lease l
 WHERE j.id = i.job_id AND j.home_id <> i.sub_cluster_id AND l.sub_cluster_id = i.sub_cluster_id
   AND i.kind <> 'containers'
   AND (l.expires_at IS NULL OR l.expires_at < clock_timestamp())
""",
)
WATCH_GAP_S = 10.0  # nobody knows what happened while nobody watched for longer
UNDERTAKER = ""  # holder of a lost sub-cluster's lease while its jobs move: to all others nobody leads it
_STATES = [str(s) for s in (SubCluster.State.RUNNING, SubCluster.State.DRAINING, SubCluster.State.LOST)]


class Silent(NamedTuple):
    """A sub-cluster that nobody leads. has_jobs: live ones have their home there. nodes: those that are not lost."""

    id: int
    name: str
    has_jobs: bool
    nodes: list[int]


@dataclass(frozen=True, slots=True)
class Homeless:
    """A live job without a home. demand: along ``AXES``, of its tasks that have not ended."""

    id: int
    name: str
    queue: str
    owner_id: int
    demand: Amounts


def silent(session: psycopg.Connection, after_s: float) -> list[Silent]:
    """Sub-clusters that nobody was seen to lead for ``after_s``; to be asked every few seconds.

    None of them when fewer than half are led: then it is not they that are lost, but
    what all of them need.
    """
    session.execute(_WATCH, {"gap": WATCH_GAP_S})
    row = session.execute(_LED, {"states": _STATES}).fetchone()
    led, total = row if row else (0, 0)
    if not led or 2 * led < total:
        return []
    found = session.execute(_SILENT, {"states": _STATES, "after": after_s}).fetchall()
    return [Silent._make(row) for row in found]


def returned(session: psycopg.Connection) -> list[int]:
    """Lost sub-clusters that work again."""
    return [sub for (sub,) in session.execute(_RETURNED, (UNDERTAKER,)).fetchall()]


def forward_strays(session: psycopg.Connection) -> None:
    """Give reports and wishes for homes that nobody leads to the homes that their jobs have now."""
    for sql in _STRAYS:
        session.execute(sql)


def rehome(
    session: psycopg.Connection,
    sub_cluster_id: int,
    fence: Callable[[], None],
    choose: Callable[[Sequence[Homeless]], Mapping[int, int]],
    emptied: bool = False,
) -> dict[int, int]:
    """Give the sub-cluster's live jobs new homes; job -> home of those for which ``choose`` found one.

    ``fence`` raises unless the caller still holds the sub-cluster's lease. emptied: it is not lost but being drained,
    and led on; nothing moves if the drain has ended meanwhile. Done twice it changes nothing more.
    """
    live = session.execute(_JOBS, (sub_cluster_id,)).fetchall()
    jobs = [Homeless(job, name, queue, owner, amounts(demand)) for job, name, queue, owner, *demand in live]
    chosen = dict(choose(jobs)) if jobs else {}  # it takes its time, and locks nothing
    with session.transaction():
        homes = _standing(session, sub_cluster_id, chosen, emptied)
        if homes:
            values = {
                "jobs": list(homes),
                "homes": list(homes.values()),
                "sub": sub_cluster_id,
                "unlowered": UNLOWERED,
                "emptied": emptied,
                "why": "is being emptied" if emptied else "is lost",
                "adopt": str(Intent.Kind.ADOPT),
            }
            session.execute(_MOVE, values)
            for sql in _FOLLOW:
                session.execute(sql, values)
        fence()
    return homes


def _standing(session: psycopg.Connection, sub: int, chosen: Mapping[int, int], emptied: bool) -> dict[int, int]:
    """Of the homes that were chosen, those to which the jobs can still move, locked until they have."""
    if not chosen or (emptied and not session.execute(_DRAINING, (sub,)).fetchone()):
        return {}
    jobs = {job for (job,) in session.execute(_STILL, (sorted(chosen), sub)).fetchall()}
    stay = {home for (home,) in session.execute(_STAY, (sorted({*chosen.values()}),)).fetchall()}
    return {job: home for job, home in chosen.items() if job in jobs and home in stay}
