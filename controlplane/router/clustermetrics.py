"""The cluster's numbers in Prometheus' form: every sub-cluster, and the queues of the largest shares.

Gauges are sampled at the scrape as history samples them; counters are
history's totals since ever, so that every web process answers the same.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from django.conf import settings
from django.db import connection
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from controlplane import clock
from controlplane.statestore.queries.federation import components
from controlplane.statestore.series import gauges
from controlplane.statestore.series.columns import CLUSTER, COUNTED, QUEUE, SUB_CLUSTER, WindowRow
from controlplane.statestore.series.levels import window
from controlplane.statestore.series.sketch import ERROR, Sketch, unpacked, upper_s, value_s
from wire.resources import OF_AXIS, RESOURCES

FRESH_S = 5.0
VERDICTS = ("good", "warn", "bad")
PROCESSES = ("web", "worker", "beat")
BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400)
_SUB_CLUSTERS = """
SELECT s.id, s.name, coalesce(l.expires_at > clock_timestamp() AND l.holder <> '', false)
  FROM statestore_subcluster s LEFT JOIN statestore_lease l ON l.sub_cluster_id = s.id
 WHERE s.state <> 'decommissioned' ORDER BY s.name
"""
_TOTALS = """
SELECT s.name, r.decisions, r.preemptions, r.latency FROM statestore_series r
  JOIN statestore_seriesscope s ON s.id = r.scope_id WHERE r.step = 0 AND s.name = ANY(%s)
"""
_POLICY = "SELECT id FROM statestore_policyversion WHERE active"


class Total(NamedTuple):
    """What a scope's history adds up to: by column, and how long containers waited for."""

    counted: dict[str, int]
    latency: Sketch


Totals = Mapping[str, Total | None]  # by scope, or the name of what it is of


class ClusterCollector(Collector):
    """Read anew at most every ``FRESH_S``, by one scrape at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read_at = 0.0
        self._known: list[Metric] = []

    def describe(self) -> Iterator[Metric]:
        """Nothing is read while the registry is put together."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            if not self._known or time.monotonic() - self._read_at > FRESH_S:
                self._known, self._read_at = list(_families()), time.monotonic()
            return iter(self._known)

    def forget(self) -> None:
        with self._lock:
            self._known = []


def _families() -> Iterator[Metric]:
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute(_SUB_CLUSTERS)
        found = cursor.fetchall()
        cursor.execute(_POLICY)
        (version,) = cursor.fetchone() or (0,)
    names = {number: name for number, name, _ in found}
    fresh = gauges.recent(connection.connection, names)
    sampled = {scope: row for (scope, _), row in gauges.sampled(fresh, window(clock.now(), 10), names).items()}
    subs = {name: sampled[SUB_CLUSTER + name] for _, name, _ in found}
    queues = sorted((s for s in sampled if s.startswith(QUEUE)), key=lambda s: sampled[s].rank)
    most = int(settings.HYDRA["metrics_queues"])
    kept = queues[:most]
    totals = _totals([CLUSTER, *(SUB_CLUSTER + name for name in subs), *kept])
    yield _verdicts()
    yield _one("hydra_policy_version", "Version of the policy in force", version)
    yield _one("hydra_queues_left_out", "Queues with something in them beyond those shown", len(queues) - len(kept))
    led = GaugeMetricFamily("hydra_sub_cluster_led", "Whether an RM leads it", labels=["sub_cluster"])
    for _, name, leads in found:
        led.add_metric([name], int(leads))
    yield led
    yield from _gauges("sub_cluster", subs, ("allocated", "capacity", "pending"))
    yield from _machines(subs)
    yield from _gauges("queue", {s.removeprefix(QUEUE): sampled[s] for s in kept}, ("allocated", "pending"))
    yield from _guaranteed([s.removeprefix(QUEUE) for s in kept], gauges.guarantees(fresh), most)
    yield from _counters("sub_cluster", "", {name: totals.get(SUB_CLUSTER + name) for name in subs})
    yield from _counters("queue", "queue_", {s.removeprefix(QUEUE): totals.get(s) for s in kept})
    yield _latency({name: totals.get(SUB_CLUSTER + name) for name in subs})


def _verdicts() -> Metric:
    """As *System health* tells them. Of processes of one kind the worst: their names come and go."""
    text = "Whether a part of the system does its duty: 0 it does, 1 is to be looked at, 2 it does not"
    family = GaugeMetricFamily("hydra_component_verdict", text, labels=["kind", "name"])
    worst: dict[tuple[str, str], int] = {}
    for part in components.read():
        of = part["kind"], "" if part["kind"] in PROCESSES else part["name"]
        worst[of] = max(worst.get(of, 0), VERDICTS.index(part["verdict"]))
    for of, value in worst.items():
        family.add_metric(of, value)
    return family


def _one(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _totals(scopes: list[str]) -> dict[str, Total]:
    with connection.cursor() as cursor:
        cursor.execute(_TOTALS, [scopes])
        return {
            name: Total(dict(zip(COUNTED, numbers, strict=True)), unpacked(latency))
            for name, *numbers, latency in cursor.fetchall()
        }


def _gauges(kind: str, rows: dict[str, WindowRow], sides: tuple[str, ...]) -> Iterator[Metric]:
    """What stands in load rows, of those that have a fresh one."""
    told = {name: row.numbers for name, row in rows.items() if row.numbers.get("n_load")}
    for side in sides:
        for resource in RESOURCES:
            axis, (unit, factor) = resource.axis, resource.metric
            family = GaugeMetricFamily(f"hydra_{kind}_{side}_{unit}", f"{side.capitalize()} {unit}", labels=[kind])
            for name, numbers in told.items():
                family.add_metric([name], numbers[f"{side}_{axis}"] * factor)
            yield family
    share = GaugeMetricFamily(f"hydra_{kind}_dominant_share", "Allocated part of the scarcest resource", labels=[kind])
    for name, numbers in told.items():
        share.add_metric([name], numbers["share_ppm"] / 1e6)
    yield share
    waiting = GaugeMetricFamily(f"hydra_{kind}_pending_containers", "Containers that wait", labels=[kind])
    for name, row in rows.items():
        if row.numbers.get("n_measured"):
            waiting.add_metric([name], row.numbers.get("pending_containers", 0))
    yield waiting


def _guaranteed(kept: list[str], owed: dict[str, list[int]], most: int) -> Iterator[Metric]:
    """Of queues that are told of anyway and, idle or not, those of the largest guarantees."""
    told = dict.fromkeys([*kept, *islice(owed, most)])
    for at, resource in enumerate(RESOURCES):
        unit, factor = resource.metric
        family = GaugeMetricFamily(f"hydra_queue_guaranteed_{unit}", f"Guaranteed {unit}", labels=["queue"])
        for path in told:
            family.add_metric([path], owed[path][at] * factor if path in owed else 0)
        yield family


def _machines(rows: dict[str, WindowRow]) -> Iterator[Metric]:
    for axis in ("memory_mib", "vcores_milli"):
        unit, factor = OF_AXIS[axis].metric
        family = GaugeMetricFamily(
            f"hydra_sub_cluster_used_{unit}", f"Used {unit}, as measured", labels=["sub_cluster"]
        )
        for name, row in rows.items():
            if row.numbers.get("n_measured"):
                family.add_metric([name], row.numbers[f"used_{axis}"] * factor)
        yield family
    nodes = GaugeMetricFamily("hydra_sub_cluster_nodes", "Nodes by state", labels=["sub_cluster", "state"])
    for name, row in rows.items():
        for state in ("registered", "up", "unhealthy", "lost"):
            nodes.add_metric([name, state], row.numbers.get(f"nodes_{state}", 0))
    yield nodes


def _counters(kind: str, prefix: str, totals: Totals) -> Iterator[Metric]:
    for column, text in (("decisions", "Containers placed"), ("preemptions", "Containers stopped for others")):
        family = CounterMetricFamily(f"hydra_{prefix}{column}", text, labels=[kind])
        for name, found in totals.items():
            family.add_metric([name], found.counted[column] if found else 0)
        yield family


def _latency(totals: Totals) -> Metric:
    text = "From submit to a task's first container; bounds of buckets hold to within 2 percent"
    family = HistogramMetricFamily("hydra_allocation_latency_seconds", text, labels=["sub_cluster"])
    for name, found in totals.items():
        sketch: Sketch = found.latency if found else {}
        below = [
            (str(float(le)), sum(n for b, n in sketch.items() if upper_s(b) <= le * (1 + ERROR))) for le in BUCKETS_S
        ]
        total = sum(sketch.values())
        family.add_metric([name], [*below, ("+Inf", total)], sum(value_s(b) * n for b, n in sketch.items()))
    return family


COLLECTOR = ClusterCollector()
