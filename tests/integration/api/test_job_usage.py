"""What a job's attempts used beside what they asked for, over REST and from the shell."""

import datetime as dt
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from controlplane.statestore.models import ContainerHistory, Job, TaskGroup
from controlplane.statestore.queries.jobs import usage
from tests.hydractl import run
from tests.integration.api import rows
from tests.integration.api.served import web
from tests.integration.api.world import World, job
from wire.states import ContainerReason, ContainerState

pytestmark = pytest.mark.django_db(transaction=True)
GROUPS = [
    {"name": name, "command": ["true"], "count": 9, "resources": {"memory_mib": 1024, "vcores_milli": 2000}}
    for name in ("map", "reduce", "idle")
]


def made(world: World) -> Job:
    answer = world["tenant"].post("jobs", job(groups=GROUPS))
    assert answer.status_code == 201, answer.content
    return Job.objects.get(pk=answer.json()["id"])


def ran(world: World, of: Job, group: int, *peaks: int) -> None:
    """Attempts of ten seconds that have ended, each with such a peak of memory in MiB."""
    node, began = world.nodes[0].session.node_id, timezone.now() - dt.timedelta(seconds=20)
    there = {"memory_mib": 1024, "vcores_milli": 2000, "allocated_at": began, "started_at": began}
    for index, peak in enumerate(peaks):
        live = rows.container(of, node, group, index, **there)
        rows.end(live, ago_s=10)
        found = ContainerHistory.objects.filter(pk=live.pk)
        found.update(peak_memory_mib=peak, cpu_ms=5_000, finished_at=began + dt.timedelta(seconds=10))


def test_each_group_is_told_what_it_used_and_what_would_do(world: World) -> None:
    mine = made(world)
    ran(world, mine, 0, 100, 110, 120, 0)
    ran(world, mine, 1, 1000)
    ContainerHistory.objects.filter(job_id=mine.pk, group_no=1).update(
        reason=ContainerReason.MEMORY, state=ContainerState.FAILED
    )
    rows.container(mine, world.nodes[0].session.node_id, group=2)
    answer = world["tenant"].get(f"jobs/{mine.pk}/usage").json()
    first, second, third = answer["results"]
    assert answer["complete"] and first == {
        "group": "map", "attempts": 4, "measured": 3, "memory_mib": 1024, "peak_memory_mib": 120, "p95_memory_mib": 120,
        "vcores_milli": 2000, "mean_vcores_milli": 500, "p95_vcores_milli": 500, "better_memory_mib": 160,
        "better_vcores_milli": 650, "hint": first["hint"],
    }  # fmt: skip
    assert first["hint"].startswith("160 MiB of memory instead of 1,024 and 0.65 cores instead of 2 would have done")
    assert (second["better_memory_mib"], second["hint"]) == (1536, "1 attempt ran out: ask for 1,536 MiB of memory")
    assert (third["attempts"], third["hint"]) == (0, "too few attempts to say")
    assert world["other"].get(f"jobs/{mine.pk}/usage").status_code == 404
    TaskGroup.objects.filter(job_id=mine.pk, no=1).update(memory_mib=2048)
    second = world["tenant"].get(f"jobs/{mine.pk}/usage").json()["results"][1]
    assert second["hint"] == "too few attempts to say", "it ran out of less than it asks for by now"


def test_it_costs_one_query_that_looks_at_so_many_attempts_of_each_group(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = made(world)
    ran(world, mine, 0, *[100] * 5)
    ran(world, mine, 1, *[100] * 2)
    monkeypatch.setattr(usage, "COUNTED_MAX", 3 * 4)
    with CaptureQueriesContext(connection) as asked:
        found = usage.usage(mine)
    assert len(asked) == 1
    assert ([each["attempts"] for each in found["results"]], found["complete"]) == ([4, 2, 0], False)


def test_from_the_shell_in_the_same_words(world: World, tmp_path: Path) -> None:
    mine = made(world)
    ran(world, mine, 0, 100, 110, 120)
    (told, *_) = world["tenant"].get(f"jobs/{mine.pk}/usage").json()["results"]
    with web() as url:
        env = {"HOME": str(tmp_path), "HYDRA_URL": url, "HYDRA_TOKEN": world["tenant"].token, "COLUMNS": "300"}
        shown = run(("job", str(mine.pk)), env)
        assert shown.returncode == 0 and f"better size  map: {told['hint']}\n" in shown.stdout, shown
        listed = run(("containers", str(mine.pk), "--usage"), env).stdout.splitlines()
        assert listed[1].split()[:4] == ["map", "3", "1024", "120"] and listed[1].endswith(told["hint"])
        assert len(listed) == 4
