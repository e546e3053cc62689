"""What ``hydractl policy simulate`` asks about traces, and what it shows of an answer."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from client import Client
from client.commands.handingin import asked_trace, hand_in
from client.commands.simulating import MAIN, show_answer
from client.errors import HydraError
from contract.simulations import SimulationDetail

TRACE = {
    "id": 3, "name": "log.swf", "kind": "swf", "added_by": "operator", "added_at": "2026-03-01T08:00:00Z", "jobs": 1200,
    "containers": 5000, "users": 2, "span_s": 7200.0, "queues": [], "skipped": {"zero run time": 4}, "nodes": 7,
}  # fmt: skip
FIGURES = {*MAIN, "turnaround_mean_s", "share_held"}


def estimate(value: float | None) -> dict[str, Any]:
    return {"value": value, "low": None, "high": None, "over": "", "count": 1}


def side(policy: str, users: dict[str, float], change: bool) -> dict[str, Any]:
    def figures(value: float) -> dict[str, Any]:
        return {name: {"value": estimate(value), "change": estimate(5.0) if change else None} for name in FIGURES}

    told = [{"user": user, "figures": figures(value)} for user, value in users.items()]
    queues = [{"queue": "root.a", "figures": figures(1.0)}]
    return {"policy": policy, "seeds": [0], "figures": figures(1.0), "queues": queues, "users": told}


def answer(users: bool) -> SimulationDetail:
    about = {name: {"title": name, "unit": "s", "better": "lower"} for name in FIGURES}
    before, after = {"ann": 10.0, "(others)": 2.0}, {"ann": 15.0, "(others)": 7.0}
    policies = [side("old", before if users else {}, False), side("new", after if users else {}, True)]
    comparison = {
        "workload": "trace log.swf", "baseline": "old", "queues": ["root.a"], "users": list(before), "total_queues": 1,
        "total_users": 5, "policies": policies, "notes": ["a note"],
    }  # fmt: skip
    result = {
        "format": "", "version": 1, "jobs": 1, "containers": 1, "nodes": 1, "comparison": comparison, "drained": None,
        "figures": {"overall": about, "by_queue": about, "by_user": about}, "runs": [],
    }  # fmt: skip
    row = {
        "id": 1, "kind": "policy", "state": "done", "message": "", "progress": 1.0, "simulated_s": 0.0, "seeds": 1,
        "requested_by": None, "requested_at": "2026-03-01T08:00:00Z", "from": "2026-03-01T08:00:00Z", "base": 1,
        "to": "2026-03-01T09:00:00Z", "version": None, "digest": "", "change": "", "sub_cluster": None,
        "forecast": None, "sample": 1.0, "started_at": None, "ended_at": None, "document": {}, "result": result,
    }  # fmt: skip
    return SimulationDetail.model_validate(row)


def test_users_are_told_like_queues(capsys: pytest.CaptureFixture[str]) -> None:
    show_answer(answer(users=True), 0)
    told = capsys.readouterr().out
    assert "QUEUE" in told and "USER" in told and told.index("QUEUE") < told.index("USER") < told.index("* a note")
    ann = next(line for line in told.splitlines() if line.startswith("ann"))
    assert "10.0 s -> 15.0 s" in ann and "(others)" in told
    show_answer(answer(users=False), 0)
    assert "USER" not in capsys.readouterr().out, "older answers tell none apart"


@pytest.mark.parametrize(
    ("given", "field"),
    [((None, "swf", [], None, False), "workload"), ((None, None, ["a=1"], None, False), "option"),
     ((None, None, [], Path("n"), False), "cluster"), ((None, None, [], None, True), "own-nodes"),
     (("7", "swf", [], None, False), "workload"), (("7", None, ["a=1"], None, False), "option")],
)  # fmt: skip
def test_options_of_a_trace_want_one(given: Any, field: str) -> None:
    with pytest.raises(HydraError) as found:
        asked_trace(*given)
    assert found.value.problem.errors[0].field == field


def test_a_file_is_handed_in_with_its_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[str, str, dict[str, str], bytes]] = []

    def take(request: httpx.Request) -> httpx.Response:
        seen.append((request.method, request.url.path, dict(request.url.params), request.read()))
        return httpx.Response(200, json=TRACE)

    (tmp_path / "log.swf").write_bytes(b"jobs")
    (tmp_path / "nodes").write_bytes(b"nodes")
    client = Client("http://127.0.0.1:1", "token")
    client._transport._http = httpx.Client(base_url="http://x", transport=httpx.MockTransport(take))
    asked = asked_trace(str(tmp_path / "log.swf"), "swf", ["queue=root.a", "memory_mib=7"], tmp_path / "nodes", False)
    assert asked is not None and asked.nodes == "trace" and hand_in(client, asked) == 3
    options = '{"queue": "root.a", "memory_mib": 7}'
    first = ("POST", "/api/v1/simulations/traces", {"kind": "swf", "name": "log.swf", "options": options}, b"jobs")
    assert seen == [first, ("PUT", "/api/v1/simulations/traces/3/nodes", {"options": options}, b"nodes")]
    said = capsys.readouterr().err
    assert (
        "1,200 jobs, 5,000 containers over 7,200 s; 4 left out: zero run time" in said and "7 nodes of its own" in said
    )
    again = asked_trace("3", None, [], None, True)
    assert again is not None and again.nodes == "trace" and hand_in(client, again) == 3 and len(seen) == 2
    with pytest.raises(HydraError, match="cannot be read"):
        client.add_simulation_trace(tmp_path / "none")
    client.close()
