"""Real servers on a real node: they get their ports, are asked how they are, and end when they hang."""

import os
import signal
import urllib.request

from tests.integration.nodemanager.plane import NodeProcess, Plane, wait_for
from wire.ids import format_container
from wire.states import ContainerReason, ContainerState
from wire.template import HealthCheck, Port

SERVE = ["python3", "-u", "-m", "http.server", "--bind", "0.0.0.0"]
SHELL = ["sh", "-c", " ".join(["exec", *SERVE, '"$HYDRA_PORT_WEB_UI"'])]
CHECK = HealthCheck("web-ui", "/", interval_s=1.0, timeout_s=0.5, start_s=20.0, failures=2)
PORTS = [Port("web-ui"), Port("other")]


def told(plane: Plane, cid: int) -> list[dict]:
    return plane.endpoints.get(format_container(cid), [])


def test_a_server_gets_its_port_becomes_healthy_and_ends_when_it_hangs(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(SHELL, ports=PORTS, health_check=CHECK)
    first = wait_for(lambda: told(plane, cid), "its endpoints are told")[0]
    assert first["healthy"] is None and set(first["endpoints"]) == {"web-ui", "other"}
    wait_for(lambda: told(plane, cid)[-1]["healthy"], "it is healthy")
    port = told(plane, cid)[-1]["endpoints"]["web-ui"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
        assert answer.status == 200
    assert len(told(plane, cid)) == 2  # nothing is said while nothing changes
    os.kill(node.pid_of(cid), signal.SIGSTOP)
    wait_for(lambda: told(plane, cid)[-1]["healthy"] is False, "it is unhealthy")
    report = plane.ended(cid)
    assert (report.state, report.reason) == (ContainerState.FAILED, ContainerReason.UNHEALTHY), node.log()
    assert [t["healthy"] for t in told(plane, cid)] == [None, True, False]


def test_ports_are_kept_apart_and_over_a_restart_of_the_agent(plane: Plane, node: NodeProcess) -> None:
    cids = [plane.add(SHELL, ports=PORTS, health_check=CHECK) for _ in range(3)]
    for cid in cids:
        wait_for(lambda cid=cid: told(plane, cid) and told(plane, cid)[-1]["healthy"], "it is healthy")
    before = {cid: told(plane, cid)[-1]["endpoints"] for cid in cids}
    assert len({port for ports in before.values() for port in ports.values()}) == 6
    node.kill()
    plane.endpoints.clear()
    node.start()
    for cid in cids:
        wait_for(lambda cid=cid: told(plane, cid), "it is told again")
        assert told(plane, cid)[0] == {"endpoints": before[cid], "healthy": True}
    later = plane.add(SHELL, ports=PORTS)
    wait_for(lambda: told(plane, later), "a later one serves too")
    assert not set(told(plane, later)[0]["endpoints"].values()) & {p for e in before.values() for p in e.values()}
    os.kill(node.pid_of(cids[0]), signal.SIGSTOP)  # the next agent watches on
    assert plane.ended(cids[0]).reason == ContainerReason.UNHEALTHY
    plane.in_state(cids[1], ContainerState.RUNNING)


def test_what_the_control_plane_did_not_hear_is_told_again(plane: Plane, node: NodeProcess) -> None:
    plane.http_down = True
    cid = plane.add(SHELL, ports=PORTS)
    plane.in_state(cid, ContainerState.RUNNING)
    assert not told(plane, cid)
    plane.http_down = False
    wait_for(lambda: told(plane, cid), "it is told at last")
    assert node.config.exists()


def test_a_range_that_is_used_up_fails_the_start(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(SHELL, ports=[Port(f"p{i}") for i in range(16)])
    numbers = sorted(wait_for(lambda: told(plane, cid), "its ports are told")[-1]["endpoints"].values())
    node.kill()
    config = node.config.read_text()
    node.config.write_text(config.replace("{", f'{{"ports": "{numbers[0]}-{numbers[0]}", ', 1))
    node.start()
    full = plane.add(SHELL, ports=PORTS)
    assert plane.ended(full).reason == ContainerReason.START
    assert "free ports" in node.log()
