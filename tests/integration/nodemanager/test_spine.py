"""From a desired document to an acknowledged end, with a real node manager."""

from tests.integration.nodemanager.plane import NodeProcess, Plane, wait_for
from wire.states import ContainerReason, ContainerState, terminal
from wire.template import File, Output


def test_a_task_runs_and_is_forgotten_once_acknowledged(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(["sh", "-c", "echo out; echo err >&2; env"], env={"A": "1", "HYDRA_GROUP": "forged"})
    report = plane.ended(cid)
    assert (report.state, report.reason, report.exit_code) == (ContainerState.SUCCEEDED, 0, 0)
    wait_for(lambda: plane.log(cid, "stderr") == b"err\n", "stderr arrives")
    wait_for(lambda: b"A=1\n" in plane.log(cid), "stdout arrives")
    assert b"HYDRA_GROUP=group\n" in plane.log(cid)
    plane.drop(cid)
    wait_for(lambda: cid not in plane.reports(), "it is forgotten")
    wait_for(lambda: not node.container(cid).exists(), "its folder goes")


def test_exit_codes_and_signals_are_told_apart(plane: Plane, node: NodeProcess) -> None:
    code = plane.add(["sh", "-c", "exit 3"])
    killed = plane.add(["sh", "-c", "kill -9 $$"])
    absent = plane.add(["no-such-command"])
    assert (plane.ended(code).reason, plane.ended(code).exit_code) == (ContainerReason.EXIT_CODE, 3)
    assert (plane.ended(killed).reason, plane.ended(killed).exit_code) == (ContainerReason.SIGNAL, 137)
    assert plane.ended(absent).reason == ContainerReason.START
    wait_for(lambda: plane.log(absent, "stderr").endswith(b"nowhere in PATH\n"), "its stderr says why")
    assert plane.log(absent, "stderr").startswith(
        b"hydra: the command could not be started: No such file or directory: no-such-command"
    )


def test_files_come_in_and_outputs_leave_before_success_is_told(plane: Plane, node: NodeProcess) -> None:
    digest = plane.artifact(b"hello")
    cid = plane.add(
        ["sh", "-c", "cat in/a.txt in/a.txt > out.txt"],
        files=[File("in/a.txt", digest, 5)],
        outputs=[Output("result", "out.txt"), Output("maybe", "none.txt", optional=True)],
    )
    assert plane.ended(cid).state == ContainerState.SUCCEEDED, node.log()
    assert list(plane.outputs.values()) == [b"hellohello"]
    last_told = plane.output_states[0]  # None: nothing yet, so short is its life
    assert last_told is None or not terminal(last_told)


def test_an_output_that_is_refused_fails_its_task_which_says_why(plane: Plane, node: NodeProcess) -> None:
    plane.refuses_outputs = "you keep 100 GiB, and may keep 100 GiB; delete some"
    script = "echo made >&2; echo x > out"
    refused = plane.add(["sh", "-c", script], outputs=[Output("result", "out")])
    report = plane.ended(refused)
    assert (report.state, report.reason) == (ContainerState.FAILED, ContainerReason.OUTPUT), node.log()
    said = f"made\nhydra: what the task leaves behind could not be kept: output result: 409 {plane.refuses_outputs}\n"
    wait_for(lambda: plane.log(refused, "stderr") == said.encode(), "its stderr says why")
    silent = plane.add(["sh", "-c", "echo out; echo x > out"], outputs=[Output("result", "out")])
    assert plane.ended(silent).reason == ContainerReason.OUTPUT
    wait_for(lambda: plane.refuses_outputs.encode() in plane.log(silent, "stderr"), "also where there was nothing")
    asked = [path for method, path in plane.requests if method == "PUT"]
    assert len(asked) == 2, "neither was sent again"
    plane.refuses_outputs = ""
    kept = plane.add(["sh", "-c", script], outputs=[Output("result", "out")])
    assert plane.ended(kept).state == ContainerState.SUCCEEDED, "the node goes on"


def test_an_output_of_a_terabyte_of_nothing_is_refused_unread(plane: Plane, node: NodeProcess) -> None:
    huge = plane.add(["truncate", "-s", "1T", "out"], outputs=[Output("o", "out")])
    others = [plane.add(["sh", "-c", f"echo {n} > out"], outputs=[Output("o", "out")]) for n in range(6)]
    report = plane.ended(huge)
    assert (report.state, report.reason) == (ContainerState.FAILED, ContainerReason.OUTPUT)
    assert all(plane.ended(cid).state == ContainerState.SUCCEEDED for cid in others)
    large = plane.add(["truncate", "-s", "20M", "out"], outputs=[Output("o", "out")])
    assert plane.ended(large).state == ContainerState.SUCCEEDED, "it is sent as before"
    assert len(plane.outputs) == 7 and "at most 536,870,912 are kept" in node.log()


def test_stop_is_polite_first_and_kills_after_the_grace(plane: Plane, node: NodeProcess) -> None:
    polite = plane.add(["sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"])
    deaf = plane.add(["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done"])
    wait_for(lambda: plane.log(polite) and plane.log(deaf), "both are up")
    for cid in (polite, deaf):
        plane.wants[cid] = 2
    plane.publish()
    for cid in (polite, deaf):
        report = plane.ended(cid)
        assert (report.state, report.reason) == (ContainerState.KILLED, ContainerReason.STOPPED)
    wait_for(lambda: plane.log(polite) == b"up\nbye\n", "the polite one had its say")
