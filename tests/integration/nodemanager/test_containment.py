"""What a hostile or careless command cannot do."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.contents import files
from tests.integration.nodemanager.plane import NodeProcess, Plane, wait_for
from tests.processes import Pid, alive
from wire.ids import format_container
from wire.states import ContainerReason, ContainerState, NodeHealth, terminal
from wire.template import File, Output, Secret

DOUBLE_FORK = """
import os, sys, time
said, say = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.environ.clear()
        with open("pid", "w") as f: f.write(str(os.getpid()))
        os.write(say, b"!")
        os.execve(sys.executable, ["python3", "-c", "import time; time.sleep(600)"], KEEP)
    os._exit(0)
os.wait()
os.read(said, 1)
TAIL
"""
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: tasks get users of their own")


def pid_file(node: NodeProcess, cid: int) -> Pid:
    path = node.container(cid) / "work" / "pid"
    wait_for(lambda: path.exists() and path.read_text(), "the daemon says its pid")
    return Pid(int(path.read_text()))


@pytest.mark.parametrize("cgroups", [True, False])
@pytest.mark.parametrize("tail", ["", "time.sleep(600)"])
def test_double_forked_daemons_die_with_their_container(plane: Plane, tmp_path: Path, tail: str, cgroups: bool) -> None:
    keep = "{}" if os.geteuid() == 0 else "dict(os.environ)"
    node = NodeProcess(plane, tmp_path / "d", cgroups=cgroups).start()
    try:
        other = plane.add(["sleep", "60"])
        code = DOUBLE_FORK.replace("KEEP", keep).replace("TAIL", tail)
        cid = plane.add(["python3", "-c", code])
        if tail:
            daemon = pid_file(node, cid)
            assert alive(daemon)
            plane.wants[cid] = 2
            plane.publish()
            plane.ended(cid)
            assert not alive(daemon)
        else:
            plane.ended(cid)
            assert not alive(pid_file(node, cid))
        assert plane.reports()[other].state == ContainerState.RUNNING  # a neighbour is not touched
    finally:
        node.close()


@pytest.mark.parametrize("cgroups", [True, False])
def test_a_memory_hog_fails_for_memory(plane: Plane, tmp_path: Path, cgroups: bool) -> None:
    node = NodeProcess(plane, tmp_path / "m", cgroups=cgroups, cpu_quota=True).start()
    try:
        hog = "import time\nx = []\nwhile True: x.append(b'x' * (8 << 20)); time.sleep(0.02)"
        cid = plane.add(["python3", "-c", hog], memory_mib=64)
        report = plane.ended(cid, 30.0)
        assert (report.state, report.reason) == (ContainerState.FAILED, ContainerReason.MEMORY)
        enforces = plane.registrations[0]["enforces"]
        assert cgroups or "memory_measured" in enforces
        assert ("cpu_quota" in enforces) == ("cpu_cgroup" in enforces)
    finally:
        node.close()


def test_a_log_flood_is_capped_and_what_is_lost_is_counted(plane: Plane, node: NodeProcess) -> None:
    cap = 1 << 20
    flood = "import os\nfor i in range(512): os.write(1, bytes([65 + i % 26]) * (64 << 10))"
    cid = plane.add(["python3", "-c", flood], log_max_bytes=cap)
    calm = plane.add(["true"])
    assert plane.ended(calm).state == ContainerState.SUCCEEDED
    assert plane.ended(cid, 60.0).state == ContainerState.SUCCEEDED
    kept = sum(p.stat().st_size for p in (node.container(cid) / "logs").iterdir() if p.name.startswith("stdout"))
    assert cap // 2 <= kept <= cap
    wait_for(lambda: last_offset(plane) == 512 * (64 << 10), "the end of the flood arrives")
    pieces = [c for c in plane.log_chunks if c["stream"] == "stdout"]
    assert sum(c["skipped"] for c in pieces) + len(plane.log(cid)) == 512 * (64 << 10)


def last_offset(plane: Plane) -> int:
    import base64

    return max((c["offset"] + len(base64.b64decode(c["data"])) for c in plane.log_chunks), default=0)


def test_rlimits_and_no_new_privileges_are_set(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(["sh", "-c", "grep NoNewPrivs /proc/self/status; ulimit -c; ulimit -n; ps -o sid= -p $$; echo $$"])
    plane.ended(cid)
    wait_for(lambda: plane.log(cid), "its words arrive")
    words = plane.log(cid).split()
    assert words[1] == b"1"
    assert words[2] == b"0"
    assert words[4] == words[5]  # its own session


@root_only
def test_tasks_of_root_agents_are_their_tenants_and_cannot_read_secrets(plane: Plane, node: NodeProcess) -> None:
    state = node.folder / "state.json"
    first = plane.add(["sh", "-c", "id -u; id -g; cat work.txt; echo x > mine; sleep 60"], lease_changes={"tenant": 3})
    plane.in_state(first, ContainerState.RUNNING)
    mine = node.container(first) / "work" / "mine"
    wait_for(mine.exists, "it writes")
    spy = plane.add(
        ["sh", "-c", f"id -u; cat {state} || echo no; cat {mine} || echo no; kill -9 {node.pid_of(first)} || echo no"],
        lease_changes={"tenant": 4},
    )
    plane.ended(spy)
    wait_for(lambda: plane.log(spy).count(b"no\n") == 3 and plane.log(first).startswith(b"200003\n"), "both spoke")
    assert plane.log(spy).startswith(b"200004\n")
    assert plane.reports()[first].state == ContainerState.RUNNING
    assert "user_per_tenant" in plane.registrations[0]["enforces"]


@root_only
def test_setuid_programs_give_no_rights(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(["sh", "-c", "su -c id root < /dev/null || mount -t tmpfs x . || id -u"])
    plane.ended(cid)
    wait_for(lambda: plane.log(cid) == b"200005\n", "still the tenant's own user")


@root_only
def test_a_fork_bomb_is_contained(plane: Plane, node: NodeProcess) -> None:
    bomb = plane.add(["sh", "-c", "b() { b | b & }; b; sleep 60"], lease_changes={"tenant": 90_009}, memory_mib=1024)
    plane.in_state(bomb, ContainerState.RUNNING)
    calm = plane.add(["true"])
    assert plane.ended(calm, 30.0).state == ContainerState.SUCCEEDED
    plane.wants[bomb] = 2
    plane.publish()
    plane.ended(bomb, 30.0)
    left = [
        p for p in Path("/proc").glob("[0-9]*") if owner(p) == 290_009
    ]  # no account of another test has that number
    assert not [p for p in left if alive(Pid(int(p.name)))]


def owner(path: Path) -> int:
    try:
        return path.stat().st_uid
    except OSError:
        return -1


def test_arguments_arrive_byte_for_byte(plane: Plane, node: NodeProcess) -> None:
    evil = ["$(id)", "a\nb", "; rm -rf /", "'\"`", "é\U0001f600", "", "--"]
    cid = plane.add(["python3", "-c", "import sys; print(ascii(sys.argv[1:]))", *evil])
    assert plane.ended(cid).state == ContainerState.SUCCEEDED
    wait_for(lambda: plane.log(cid) == ascii(evil).encode() + b"\n", "they arrive")
    nul = plane.add(["echo", "a\0b"])
    assert plane.ended(nul).reason == ContainerReason.START


def test_paths_never_lead_out_of_the_work_folder(plane: Plane, node: NodeProcess, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    digest = plane.artifact(b"x")
    for path in ("../up", "/abs", "a/../../b", "", "a//b", "n\0l"):
        cid = plane.add(["true"], files=[File(path, digest, 1)])
        assert plane.ended(cid).reason == ContainerReason.LOCALIZATION, path
    linked = plane.add(["ln", "-s", str(secret), "out"], outputs=[Output("o", "out")])
    folder = plane.add(["ln", "-s", str(tmp_path), "d"], outputs=[Output("o", "d/secret")])
    pipe = plane.add(["mkfifo", "out"], outputs=[Output("o", "out")])
    for cid in (linked, folder, pipe):
        assert plane.ended(cid).reason == ContainerReason.OUTPUT
    assert not plane.outputs


def test_a_file_that_does_not_match_its_digest_fails_and_good_ones_come_once(plane: Plane, node: NodeProcess) -> None:
    good = plane.artifact(b"y" * 100_000)
    plane.artifacts["0" * 64] = b"evil"
    cids = [plane.add(["true"], publish=False, files=[File("f", good, 100_000)]) for _ in range(6)]
    bad = plane.add(["true"], files=[File("f", "0" * 64, 4)])
    assert plane.ended(bad, 40.0).reason == ContainerReason.LOCALIZATION
    for cid in cids:
        assert plane.ended(cid).state == ContainerState.SUCCEEDED
    assert plane.downloads.count(good) == 1


def test_a_secret_is_in_the_tasks_environment_or_its_file_and_nowhere_else(plane: Plane, node: NodeProcess) -> None:
    plane.secrets["secrets"] = {"db": "hunter2-value", "key": "line one\nline two\n"}
    wanted = [Secret("db", env="PASSWORD"), Secret("key", path=".ssh/id")]
    script = 'echo "${#PASSWORD} $(stat -c %a .ssh/id) $(cat .ssh/id)" > out; echo "is $PASSWORD"; cat .ssh/id; '
    script += "test -O .ssh/id && sleep 60"
    cid = plane.add(["sh", "-c", script], secrets=wanted)
    folder = node.containers() / format_container(cid)
    wait_for(lambda: (folder / "work" / "out").exists() and (folder / "work" / "out").read_text(), "it reads them")
    assert (folder / "work" / "out").read_text() == "13 600 line one\nline two\n"
    wait_for(lambda: plane.log(cid) == b"is ***\n***\n***\n", "its log has no value")
    kept = {path: content for at in (node.folder, node.containers()) for path, content in files(at)}
    assert {path.name for path, content in kept.items() if b"line one" in content} == {"out", "id"}
    assert not [path for path, content in kept.items() if b"hunter2" in content]
    assert not [key for key in plane.redis.scan_iter() if b"hunter2" in (plane.redis.dump(key) or b"")]
    plane.secrets = {"secrets": {"db": "x"}, "wrong": {"key": "was deleted"}}
    ended = plane.add(["true"], secrets=wanted)
    assert plane.ended(ended).reason == ContainerReason.SECRET
    wait_for(lambda: b"the secret key was deleted" in plane.log(ended, "stderr"), "its log says which")
    plane.secrets = {"secrets": {"db": "x" * 65_536, "key": "y" * 65_537}, "wrong": {}}
    many = plane.add(["true"], secrets=[Secret("db", env="A"), Secret("key", env="B")])
    assert plane.ended(many).reason == ContainerReason.SECRET
    wait_for(lambda: b"take some as files" in plane.log(many, "stderr"), "its log says what to do")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"expires_at": 1}, "expired"),
        ({"epoch": 2}, "epoch"),
    ],
)
def test_a_lease_that_may_not_be_used_fails_its_container(
    plane: Plane, node: NodeProcess, changes: dict, why: str
) -> None:
    cid = plane.add(["touch", "/tmp/never"], lease_changes=changes)
    assert plane.ended(cid).reason == ContainerReason.LEASE
    assert why in node.log()


def test_gpus_are_named_to_the_task(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(["sh", "-c", "echo $HYDRA_GPUS $CUDA_VISIBLE_DEVICES"], lease_changes={"gpus": 0b101})
    wait_for(lambda: plane.log(cid) == b"0,2 0,2\n", "both names")


def test_a_task_of_an_array_has_its_values_as_data(plane: Plane, node: NodeProcess) -> None:
    array = {"seed": [1, 2, "$HOME; 'x'"], "rate": [0.5, 1e-5]}
    command = ["printf", "%s|", "${{ rate }}", "s=${{seed}}", "${{ other }}"]
    for at, said in ((0, b"0.5|s=1|"), (3, b"1e-05|s=1|"), (5, b"1e-05|s=$HOME; 'x'|")):
        cid = plane.add(command, lease_changes={"task_index": at}, array=array)
        wait_for(lambda cid=cid, said=said: plane.log(cid) == said + b"${{ other }}|", f"task {at}")
    script = 'echo "$HYDRA_ARRAY_RATE $HYDRA_ARRAY_SEED $OWN"; echo ${{ rate }}'
    more = {"array": array, "shell": True, "env": {"OWN": "<${{ rate }}>", "HYDRA_ARRAY_RATE": "not this"}}
    cid = plane.add([script], lease_changes={"task_index": 1}, **more)
    wait_for(lambda: plane.log(cid) == b"0.5 2 <0.5>\n0.5\n", "values in the environment")


def test_a_timeout_ends_a_task(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(["sleep", "60"], lease_changes={"timeout_s": 1})
    report = plane.ended(cid)
    assert (report.state, report.reason) == (ContainerState.FAILED, ContainerReason.TIMEOUT)


def test_files_are_fetched_and_outputs_stored_once_a_web_that_was_down_is_back(plane: Plane, node: NodeProcess) -> None:
    """A task has no part in that: it is neither failed nor run twice, however long it takes."""
    digest, later = plane.artifact(b"input"), plane.artifact(b"later")
    gate = "while [ ! -e go ]; do sleep 0.05; done; cp in out; echo once >> runs; cat runs"
    leaves = plane.add(["sh", "-c", gate], files=[File("in", digest, 5)], outputs=[Output("out", "out", False)])
    plane.in_state(leaves, ContainerState.RUNNING)
    plane.http_down = True
    (node.container(leaves) / "work" / "go").touch()
    fetches = plane.add(["cat", "late"], files=[File("late", later, 5)])
    for part in ("/outputs/out", f"/artifacts/{later}"):
        wait_for(lambda part=part: sum(part in path for path in plane.refused) > 3, "it is tried again and again")
    assert not any(terminal(plane.reports()[cid].state) for cid in (leaves, fetches))
    plane.http_down = False
    assert plane.ended(leaves).state == plane.ended(fetches).state == ContainerState.SUCCEEDED
    assert list(plane.outputs.values()) == [b"input"]
    wait_for(lambda: plane.log(leaves) == b"once\n" and plane.log(fetches) == b"later", "both logs")


def test_logs_wait_for_a_web_that_is_down(plane: Plane, node: NodeProcess) -> None:
    plane.http_down = True
    cid = plane.add(["echo", "late"])
    plane.ended(cid)
    plane.drop(cid)
    wait_for(lambda: cid not in plane.reports(), "it is forgotten")
    assert plane.log(cid) == b""
    plane.http_down = False
    wait_for(lambda: plane.log(cid) == b"late\n", "the words arrive in the end")
    wait_for(lambda: not node.container(cid).exists(), "and then the folder goes")


def test_without_root_a_node_serves_one_tenant_at_a_time(plane: Plane, tmp_path: Path) -> None:
    prefix = as_nobody()
    node = NodeProcess(plane, tmp_path / "plain", prefix=prefix).start()
    try:
        first = plane.add(["sh", "-c", "id -u; sleep 60"], lease_changes={"tenant": 1})
        plane.in_state(first, ContainerState.RUNNING)
        other = plane.add(["true"], lease_changes={"tenant": 2})
        assert plane.ended(other).reason == ContainerReason.LEASE
        same = plane.add(["true"], lease_changes={"tenant": 1})
        assert plane.ended(same).state == ContainerState.SUCCEEDED
        assert "one tenant at a time" in node.log()
        assert "one_tenant_at_a_time" in plane.registrations[0]["enforces"]
        user = b"65534\n" if prefix else b"%d\n" % os.geteuid()
        wait_for(lambda: plane.log(first) == user, "it runs as the agent's user")
    finally:
        node.close()


def able(*command: str) -> None:
    """Do it, or skip on a host that does not let us."""
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this host does not allow {command[0]}: {getattr(error, 'stderr', '') or error}".strip())


def as_nobody() -> tuple[str, ...]:
    """What makes the agent's user, who is root in tests, another one."""
    if os.geteuid() != 0:
        return ()
    prefix = ("unshare", "--user", "--map-user=65534", "--map-group=65534")
    able(*prefix, "true")
    return prefix


@root_only
def test_a_readonly_work_folder_is_unhealthy_until_it_is_writable(plane: Plane, tmp_path: Path) -> None:
    folder = tmp_path / "ro"
    folder.mkdir()
    able("mount", "-t", "tmpfs", "-o", "size=64m,mode=755", "tmpfs", str(folder))
    node = NodeProcess(plane, folder, disk_reserve_mib=16)
    try:
        node.start()
        cid = plane.add(["sleep", "60"])
        plane.in_state(cid, ContainerState.RUNNING)
        able("chattr", "+i", str(folder))  # as for root nothing else makes a folder read-only
        wait_for(lambda: plane.status().health == NodeHealth.WORK_FOLDER_READONLY, "it is reported", 10.0)
        subprocess.run(["chattr", "-i", folder], check=True)
        wait_for(lambda: plane.status().health == NodeHealth.OK, "it recovers", 10.0)
        (folder / "filler").write_bytes(bytes(58 << 20))
        wait_for(lambda: plane.status().health == NodeHealth.DISK_FULL, "a full disk is told", 10.0)
        assert plane.reports()[cid].state == ContainerState.RUNNING
        (folder / "filler").unlink()
        wait_for(lambda: plane.status().health == NodeHealth.OK, "it recovers again", 10.0)
        assert plane.ended(plane.add(["true"])).state == ContainerState.SUCCEEDED
    finally:
        node.close()
        subprocess.run(["chattr", "-i", folder], check=False)
        subprocess.run(["umount", "-l", folder], check=False)


def test_an_operator_may_let_tenants_share_a_user(plane: Plane, tmp_path: Path) -> None:
    node = NodeProcess(plane, tmp_path / "shared", prefix=as_nobody(), several_tenants=True).start()
    try:
        first = plane.add(["sleep", "60"], lease_changes={"tenant": 1})
        plane.in_state(first, ContainerState.RUNNING)
        assert plane.ended(plane.add(["true"], lease_changes={"tenant": 2})).state == ContainerState.SUCCEEDED
        assert "tenants_share_a_user" in plane.registrations[0]["enforces"]
    finally:
        node.close()


def test_no_task_reads_the_join_token(plane: Plane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where it was given, nor in the memory or the environment of the agent, whose user the task has."""
    monkeypatch.setenv("HYDRA_NODE_JOIN_TOKEN", "sesame-of-the-environment")
    prefix = as_nobody()
    node = NodeProcess(plane, tmp_path / "spied", prefix=prefix, join_token="").start()
    try:
        assert plane.registrations[0]["join_token"] == "sesame-of-the-environment"
        look = "cat /proc/$PPID/environ /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -c sesame; id -u"
        cid = plane.add(["sh", "-c", look])
        plane.ended(cid)
        wait_for(lambda: plane.log(cid), "its words arrive")
        assert plane.log(cid).split()[0] == b"0"
    finally:
        node.close()


def test_the_join_tokens_file_goes_once_the_node_has_joined(plane: Plane, tmp_path: Path) -> None:
    given = tmp_path / "token"
    given.write_text("sesame\n")
    node = NodeProcess(plane, tmp_path / "joined", join_token="", join_token_file=str(given)).start()
    try:
        assert plane.registrations[0]["join_token"] == "sesame" and not given.exists()
        node.kill()
        (node.folder / "state.json").write_text("garbage")
        node.start()
        first, again = plane.registrations
        assert again["join_token"] == "" and again["credential"] == first["credential"]
    finally:
        node.close()
