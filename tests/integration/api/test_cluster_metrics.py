"""``/metrics``: what a monitor reads, and the dashboard that asks for it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from controlplane.router import clustermetrics
from controlplane.statestore.series import duty
from tests.integration.api.test_series import Raw, lead, put_load
from tests.integration.api.world import World

DASHBOARD = Path(__file__).parents[3] / "docs" / "grafana" / "hydra.json"
NAME = re.compile(r"\b((?:hydra|process)_\w+)")
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture(autouse=True)
def fresh(world: World) -> None:
    clustermetrics.COLLECTOR.forget()


def scraped(world: World) -> Samples:
    answer = world["viewer"].get("/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def test_the_cluster_in_numbers(world: World) -> None:
    raw = Raw(world, 5)
    for sub in raw.subs:
        lead(sub)
    duty.run()
    for _ in range(20):
        raw.round()
    put_load(world.west, {"root.prod.etl": 100, "root.default": 300}, {"root.prod.etl": 7})
    duty.run()
    found = scraped(world)
    west = (("sub_cluster", "west"),)
    assert found["hydra_sub_cluster_allocated_memory_bytes", west] == 400 * 2**20
    assert found["hydra_sub_cluster_capacity_cores", west] == 1.0
    assert found["hydra_sub_cluster_dominant_share", west] == 0.4
    assert found["hydra_sub_cluster_nodes", (("state", "registered"), *west)] == 1
    etl = (("queue", "root.prod.etl"),)
    assert found["hydra_queue_allocated_memory_bytes", etl] == 100 * 2**20
    assert found["hydra_queue_guaranteed_memory_bytes", etl] == 400 * 2**20
    assert found["hydra_queue_pending_memory_bytes", etl] == 7 * 2**20
    for sub in raw.subs:
        counts = [c for (scope, _), c in raw.expected.items() if scope == f"sub-cluster:{sub.name}"]
        label = (("sub_cluster", sub.name),)
        assert found["hydra_decisions_total", label] == sum(c["decisions"] for c in counts)
        assert found["hydra_preemptions_total", label] == sum(c["preemptions"] for c in counts)
        latency = sum(n for c in counts for bin_, n in c.items() if isinstance(bin_, int))
        assert found["hydra_allocation_latency_seconds_count", label] == latency
        assert found["hydra_allocation_latency_seconds_bucket", (("le", "600.0"), *label)] == 0


def test_parts_that_do_not_do_their_duty_are_counted(world: World) -> None:
    found = scraped(world)

    def verdict(kind: str, name: str) -> float:
        return found["hydra_component_verdict", (("kind", kind), ("name", name))]

    assert [verdict("gpg", "gpg"), verdict("rm", "west"), verdict("worker", "")] == [2, 2, 2], "nobody runs"
    assert verdict("store", "postgres") < 2


def test_queues_are_bounded(world: World, settings: Any) -> None:
    settings.HYDRA = settings.HYDRA | {"metrics_queues": 5}
    put_load(world.west, {f"root.q{i}": i + 1 for i in range(20)})
    found = scraped(world)
    shown = {dict(labels)["queue"] for name, labels in found if name == "hydra_queue_allocated_cores"}
    assert shown == {"root", "root.q19", "root.q18", "root.q17", "root.q16"}
    assert found["hydra_queues_left_out", ()] == 16


def test_what_an_idle_queue_is_guaranteed_is_told_as_well(world: World) -> None:
    put_load(world.west, {"root.default": 300})
    found = scraped(world)
    etl = (("queue", "root.prod.etl"),)
    assert found["hydra_queue_guaranteed_memory_bytes", etl] == 400 * 2**20
    assert ("hydra_queue_allocated_memory_bytes", etl) not in found


def test_every_query_of_the_dashboard_names_what_there_is(world: World) -> None:
    put_load(world.west, {"root.default": 300})
    lead(world.west)
    duty.run()
    world["viewer"].get("me")
    text = world["viewer"].get("/metrics").content.decode()
    there = set()
    for family in text_string_to_metric_families(text):
        there |= {family.name, *(s.name for s in family.samples)}
        there |= {family.name + suffix for suffix in ("_total", "_bucket", "_count", "_sum")} if family.type in (
            "counter", "histogram",
        ) else set()  # fmt: skip
    board = json.loads(DASHBOARD.read_text())
    queries = [t["expr"] for p in board["panels"] for t in p["targets"]]
    queries += [a["expr"] for a in board["annotations"]["list"]]
    queries += [v["query"]["query"] for v in board["templating"]["list"] if v["type"] == "query"]
    assert len(queries) > 30
    assert {q: n for q in queries for n in NAME.findall(q) if n not in there} == {}
    assert all(NAME.search(q) for q in queries)
