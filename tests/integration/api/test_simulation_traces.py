"""Traces over REST: handed in once, read elsewhere within bounds, and simulated instead of the recorded history."""

import datetime as dt
import json
import os
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from controlplane.router import handedin
from controlplane.statestore.actions import simulationtraces as actions
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import AuditEntry, Simulation, SimulationTrace
from tests.integration.api import rows
from tests.integration.api.served import whole_web
from tests.integration.api.world import POLICY, World
from tests.patience import wait_until

SWF = b"; MaxProcs: 4\n1 0 -1 50 2 -1 -1 2 -1 -1 1 1 1 -1 1 -1 -1 -1\n2 7 -1 0 1 -1 -1 1 60 -1 1 2 1 -1 1 -1 -1 -1\n"
LESS = {"queues": POLICY["queues"] | {"default": {"guaranteed": 0.3, "open_to_all": True}}}


def hand_in(world: World, data: bytes, **query: Any) -> Any:
    return world["operator"]("POST", f"simulations/traces?{urlencode(query)}", data)


def test_a_log_is_handed_in_once_and_simulated_twice(world: World) -> None:
    answer = hand_in(world, SWF, kind="swf", name="nasa.swf", options=json.dumps({"queue": "root.prod"}))
    assert answer.status_code == 201, answer.content
    told = answer.json()
    assert (told["name"], told["kind"], told["jobs"], told["containers"], told["nodes"]) == ("nasa.swf", "swf", 1, 2, 4)
    assert told["queues"] == [{"queue": "root.prod", "jobs": 1}] and told["skipped"] == {"zero run time": 1}
    assert (told["span_s"], told["added_by"]) == (50.0, "operator")
    assert world["viewer"].get("simulations/traces").json()["results"] == [told]
    for nodes, own in (("fleet", False), ("trace", True), (None, False)):
        body = {"document": LESS, "trace": told["id"], "seeds": 1} | ({"nodes": nodes} if nodes else {})
        asked = world["operator"].post("simulations", body).json()
        assert (asked["trace"], asked["trace_name"], asked["own_nodes"]) == (told["id"], "nasa.swf", own)
        begin, end = (dt.datetime.fromisoformat(asked[name]) for name in ("from", "to"))
        assert end - begin == dt.timedelta(seconds=50) and asked["kind"] == "policy" and asked["digest"]
    actions_ = AuditEntry.objects.filter(action__startswith="simulation").values_list("action", flat=True)
    assert sorted(actions_) == ["simulation.request"] * 3 + ["simulation.trace"]
    SimulationTrace.objects.all().delete()
    kept = world["operator"].get(f"simulations/{asked['id']}").json()
    assert (kept["trace"], kept["trace_name"]) == (None, "nasa.swf"), "what it was is known still"


def test_nodes_of_its_own_can_be_handed_in_later(world: World) -> None:
    row = rows.simulation_trace(kind="openb")
    asked = world["operator"].post("simulations", {"document": LESS, "trace": row.pk, "nodes": "trace"})
    assert asked.status_code == 422 and asked.json()["errors"][0]["field"] == "nodes"
    nodes = b"sn,cpu_milli,memory_mib,gpu,model\nn1,32000,64000,2,T4\n"
    told = world["operator"].put(f"simulations/traces/{row.pk}/nodes", nodes)
    assert told.status_code == 200 and told.json()["nodes"] == 1, told.content
    assert (
        world["operator"].post("simulations", {"document": LESS, "trace": row.pk, "nodes": "trace"}).status_code == 201
    )
    others = world["operator"].put(f"simulations/traces/{row.pk}/nodes", nodes)
    assert others.status_code == 409 and "wait for it, or cancel it" in others.json()["detail"]
    wrong = world["operator"].put(f"simulations/traces/{row.pk}/nodes", b"sn,cpu_milli\n")
    assert wrong.status_code == 422 and "line 1, field memory_mib" in wrong.json()["errors"][0]["message"]


def test_what_cannot_be_read_names_the_line(world: World) -> None:
    answer = hand_in(world, SWF + b"3 9 -1 5 many\n", kind="swf")
    assert answer.status_code == 422, answer.content
    error = answer.json()["errors"][0]
    assert (
        error["field"] == "trace" and error["message"].startswith("line 4, field 6") and "18 numbers" in error["remedy"]
    )
    half = hand_in(world, b'{"format": "hydra-history", "version": 1}\n{"\\ud800": 1}\n')
    assert half.status_code == 422 and half.json()["errors"][0]["message"] == "line 2, field ?: is unknown"
    assert not SimulationTrace.objects.exists() and "/tmp" not in answer.content.decode()


@pytest.mark.parametrize(
    ("query", "field"),
    [({"kind": "synthetic"}, "kind"), ({"options": "[]"}, "options"), ({"options": "{"}, "options"),
     ({"options": "[" * 3000}, "options"), ({"name": "a\x07"}, "name"), ({"name": "a" * 201}, "name")],
)  # fmt: skip
def test_what_is_wrong_about_it_is_told_before_it_is_read(world: World, query: dict[str, str], field: str) -> None:
    answer = hand_in(world, b"never read", **query)
    assert answer.status_code == 422 and answer.json()["errors"][0]["field"] == field, answer.content


@pytest.mark.parametrize(
    ("body", "field"),
    [({"trace": 2**40}, "trace"), ({"nodes": "fleet"}, "nodes"), ({"trace": 1, "window": "hour"}, "window"),
     ({"trace": 1, "nodes": "moon"}, "nodes"), ({"trace": 0}, "trace")],
)  # fmt: skip
def test_questions_that_make_no_sense(world: World, body: dict[str, Any], field: str) -> None:
    answer = world["operator"].post("simulations", {"document": LESS} | body)
    assert answer.status_code == 422 and answer.json()["errors"][0]["field"] == field, answer.content
    assert not Simulation.objects.exists()


def test_one_is_read_at_a_time(world: World) -> None:
    with handedin._folder():
        answer = hand_in(world, SWF, kind="swf")
    assert answer.status_code == 429 and answer["Retry-After"] == "5"


def test_folders_of_other_kinds_and_ages_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    young, old, elsewhere, other = (tmp_path / name for name in ("hydra-trace-1", "hydra-trace-2", "else", "other"))
    for folder in (young, old, elsewhere, other):
        folder.mkdir()
        (folder / "trace").touch()
    (tmp_path / "hydra-trace-3").symlink_to(elsewhere)
    for folder in (old, elsewhere, other):
        os.utime(folder, (0, 0))
    with handedin._folder() as (mine, _):
        os.utime(mine, (0, 0))
        assert handedin.remove_left() == 1
        assert mine.exists() and not old.exists()
    assert all((folder / "trace").exists() for folder in (young, elsewhere, other))


@pytest.mark.django_db(transaction=True)
def test_what_a_web_process_that_was_killed_has_left_goes_when_the_next_begins(world: World, tmp_path: Path) -> None:
    """And not before the process that reads in it has ended."""

    def ask(url: str) -> None:
        with suppress(httpx.HTTPError):
            headers = {"Authorization": f"Token {world['operator'].token}", "Content-Type": "application/octet-stream"}
            httpx.post(f"{url}/api/v1/simulations/traces?kind=swf", content=SWF, headers=headers, trust_env=False)

    with whole_web(TMPDIR=str(tmp_path)) as (url, web):
        asking = threading.Thread(target=ask, args=(url,))
        asking.start()
        (left,) = wait_until(lambda: [*tmp_path.glob("hydra-trace-*")], 20, "it is read", 0.001)
        web.kill()
        asking.join()
    wait_until(lambda: not locked(left), 20, "what read it has ended")
    os.utime(left, (0, 0))
    with whole_web(TMPDIR=str(tmp_path)):
        assert not left.exists()


def locked(folder: Path) -> bool:
    try:
        with handedin._locked(str(folder)):
            return False
    except BlockingIOError:
        return True


def test_the_oldest_make_way_unless_they_are_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "KEPT_EACH", 2)
    first, second = (rows.simulation_trace() for _ in range(2))
    rows.simulation(trace=first, trace_name="x", own_nodes=False)
    found = actions.HandedIn("x", "swf", b"", None, rows.TRACE_COLUMNS)
    third = actions.add(SYSTEM, found)
    assert set(SimulationTrace.objects.values_list("pk", flat=True)) == {first.pk, third.pk} != {second.pk}
    rows.simulation(trace=third, trace_name="x", own_nodes=False)
    with pytest.raises(actions.TooMany, match="2 traces of yours wait to be simulated"):
        actions.add(SYSTEM, found)


def test_what_reads_a_trace_knows_no_secret(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process finds the file, the library and nothing else."""
    said = 'json.dumps({"field": "trace", "wrong": " ".join(os.environ), "remedy": os.getcwd()})'
    spy = tmp_path / "python"
    spy.write_text(f"#!{sys.executable}\nimport json, os\nopen('told.json', 'w').write({said})\n")
    spy.chmod(0o755)
    monkeypatch.setattr(handedin.sys, "executable", str(spy))
    error = hand_in(world, SWF, kind="swf").json()["errors"][0]
    names = set(error["message"].split()) - {"LC_CTYPE"}
    assert names == {"PATH", "PYTHONPATH", "OPENBLAS_NUM_THREADS"}
    assert not Path(error["remedy"]).exists(), "its folder is gone"
