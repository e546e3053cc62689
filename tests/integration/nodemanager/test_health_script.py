"""A real node manager with an operator's health script."""

from pathlib import Path

from tests.integration.nodemanager.plane import NodeProcess, Plane, wait_for
from wire.states import NodeHealth


def faults(plane: Plane) -> int | None:
    found = plane.status()
    return None if found is None else found.health


def test_a_script_turns_bad_and_recovers_and_its_text_is_told(plane: Plane, tmp_path: Path) -> None:
    verdict = tmp_path / "verdict"
    verdict.write_text("exit 0")
    settings = {"health_script": ["/bin/sh", str(verdict)], "health_interval_s": 0.2, "health_timeout_s": 5}
    node = NodeProcess(plane, tmp_path / "n", **settings).start()
    try:
        wait_for(lambda: faults(plane) == NodeHealth.OK, "the first verdict")
        wait_for(lambda: plane.health_texts[-1:] == [""], "the first text is told")
        verdict.write_text("echo ERROR fan 3 stands still")
        wait_for(lambda: faults(plane) == NodeHealth.SCRIPT, "the flag is up")
        wait_for(lambda: plane.health_texts[-1] == "ERROR fan 3 stands still", "the text is told")
        cid = plane.add(["/bin/true"])
        plane.publish()
        plane.ended(cid)  # what its RM has given it runs, and the loop goes on
        plane.http_down = True
        verdict.write_text("sleep 60")
        wait_for(lambda: "within 5 s" in node.log(), "the verdict changed")
        plane.http_down = False
        wait_for(lambda: "within 5 s" in plane.health_texts[-1], "the text is told once there is somebody to hear it")
        verdict.write_text("exit 0")
        wait_for(lambda: faults(plane) == NodeHealth.OK, "the flag is down")
        wait_for(lambda: plane.health_texts[-1] == "", "and the text gone")
    finally:
        node.close()


def test_a_node_whose_script_has_said_nothing_yet_is_not_well(plane: Plane, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    wait = f"while [ ! -e {gate} ]; do sleep 0.05; done"
    node = NodeProcess(plane, tmp_path / "n", health_script=["/bin/sh", "-c", wait], health_timeout_s=60).start()
    try:
        assert faults(plane) == NodeHealth.SCRIPT
        assert plane.health_texts == []
        gate.touch()
        wait_for(lambda: faults(plane) == NodeHealth.OK, "the first verdict")
    finally:
        node.close()
