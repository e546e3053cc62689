"""The small parts of a node: settings, state file, folders, logs on disk, cache, health."""

import errno
import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from nodemanager import capture, config, health, isolation, jsonfiles, launchcontext, mailbox, paths
from nodemanager.containers import Node
from nodemanager.core import Core
from nodemanager.lifecycle import Container, Phase
from nodemanager.localize import Cache
from nodemanager.mailbox import Background
from nodemanager.state import StateFile
from tests.patience import stretched
from tests.unit.nodemanager.test_node_core import PLAIN, lease
from wire.resources import GPUS_MAX
from wire.states import ContainerReason, ContainerState, NodeHealth
from wire.template import Secret

GOOD = {"control_plane": "http://127.0.0.1:1", "name": "n", "dir": "/tmp/x"}


def settings(tmp_path: Path, environ: dict[str, str] | None = None, **changes: object) -> config.Config:
    path = tmp_path / "node.json"
    path.write_text(json.dumps(GOOD | changes))
    return config.load(str(path), environ or {})


def test_what_keeps_a_node_in_touch_waits_behind_no_transfer() -> None:
    background, end, reached = Background(lambda call: call()), threading.Event(), threading.Event()
    try:
        for _ in range(2 * mailbox.TRANSFERS):
            background.pool.submit(end.wait)
        background.contact.submit(reached.set)
        assert reached.wait(stretched(5))
    finally:
        end.set()
        background.close()


def test_settings_have_defaults_and_the_environment_goes_first(tmp_path: Path) -> None:
    env = {"HYDRA_NODE_MEMORY_MIB": "77", "HYDRA_NODE_LABELS": '{"gpu": "a"}', "HYDRA_NODE_CPU_QUOTA": "true"}
    read = settings(tmp_path, env, memory_mib=5)
    assert read.cpu_quota
    assert (read.memory_mib, read.labels) == (77, {"gpu": "a"})
    assert read.vcores_milli == len(os.sched_getaffinity(0)) * 1000
    path = tmp_path / "node.yaml"
    path.write_text("control_plane: https://h\nname: n\ndir: /tmp/x\nlabels: {a: 1}\n")
    assert config.load(str(path), {}).labels == {"a": "1"}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"nmae": "x"}, "nmae"),
        ({"name": "a/b"}, "name"),
        ({"name": ""}, "name"),
        ({"control_plane": "ftp://x"}, "control_plane"),
        ({"memory_mib": "lots"}, "memory_mib"),
        ({"memory_mib": 0}, "memory_mib"),
        ({"gpus": GPUS_MAX + 1}, "gpus is 64; at most 63"),
        ({"labels": 5}, "labels"),
        ({"dir": "/" + "x" * 100}, "dir"),
        ({"health_script": "check.sh"}, "health_script"),
        ({"health_script": [1]}, "health_script"),
        ({"health_timeout_s": 0}, "health_timeout_s"),
        ({"health_as_task_user": "yes"}, "health_as_task_user is 'yes'; expected true or false"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, changes: dict[str, object], named: str) -> None:
    with pytest.raises(config.ConfigError, match=named):
        settings(tmp_path, **changes)


def test_settings_of_older_versions_go_on_working(tmp_path: Path) -> None:
    assert settings(tmp_path, extended={"licences": 3}, gpus=1).gpus == 1


def test_unreadable_settings_files_say_so(tmp_path: Path) -> None:
    for text in ("{", "[1]", "- a", "a: [", "\0"):
        path = tmp_path / "bad"
        path.write_text(text)
        with pytest.raises(config.ConfigError, match="bad"):
            config.load(str(path), {})
    with pytest.raises(config.ConfigError):
        config.load(str(tmp_path / "none"), {})


def test_state_is_read_back_and_its_file_is_private(tmp_path: Path) -> None:
    core = Core(Node(7, 1, 60.0), 3, 4)
    core.containers[1] = Container(1, lease(1), Phase.LOCALIZING)
    ended = Container(2, None, Phase.ENDED, state=ContainerState.FAILED, reason=ContainerReason.MEMORY, exit_code=137)
    core.containers[2] = ended
    file = StateFile(tmp_path)
    file.save({"credential": "s"}, "http://x", core, 99, durable=True)
    assert file.path.stat().st_mode & 0o777 == 0o600
    saved = file.load(5.0)
    assert (saved.epoch, saved.generation, saved.seq, saved.damaged) == (3, 4, 99, "")
    assert saved.containers[0].phase is Phase.FETCHING  # interrupted: begins again
    assert saved.containers[1].exit_code == 137


@pytest.mark.parametrize("cut", [0, 1, 10, 100, -1])
def test_damaged_state_is_set_aside(tmp_path: Path, cut: int) -> None:
    core = Core(Node(7, 1, 60.0))
    core.containers[1] = Container(1, lease(1))
    file = StateFile(tmp_path)
    file.save({}, "", core, 1, durable=False)
    file.path.write_bytes(file.path.read_bytes()[:cut])
    assert file.load(0.0).damaged
    assert not file.path.exists()
    assert list(tmp_path.glob("*damaged*"))


def test_a_failed_write_leaves_the_old_record(tmp_path: Path) -> None:
    path = str(tmp_path / "r.json")
    jsonfiles.write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        jsonfiles.write_json(path, {"a": object()})
    assert jsonfiles.read_json(path) == {"a": 1}
    assert os.listdir(tmp_path) == ["r.json"]


@pytest.mark.parametrize("path", ["", "/a", "..", "a/../b", "a//b", "./a", "a/", "a\0b", "x" * 2000])
def test_paths_that_lead_elsewhere_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(paths.PathError):
        paths.open_parent(str(tmp_path), path, create=True)


def test_links_are_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "f").write_text("secret")
    (inside / "d").symlink_to(outside)
    (inside / "f").symlink_to(outside / "f")
    for path in ("d/f", "f", "d/new"):
        with pytest.raises(paths.PathError):
            paths.open_regular(str(inside), path)
    with pytest.raises(paths.PathError):
        paths.open_parent(str(inside), "d/new", create=True)
    paths.remove_tree(str(inside))
    assert (outside / "f").read_text() == "secret"


def test_a_folder_that_becomes_a_link_once_it_was_seen_changes_nothing_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another task of the same user works on the folder while root removes it."""
    top, elsewhere = tmp_path / "top", tmp_path / "elsewhere"
    (top / "a" / "b").mkdir(parents=True)
    (top / "c").mkdir()
    elsewhere.mkdir(mode=0o755)
    look, waiting = paths._entries, [top / "c", top / "a" / "b"]

    def replaced(fd: int) -> list[tuple[str, bool]]:
        found = look(fd)
        for folder in [folder for folder in waiting if (folder.name, True) in found]:
            waiting.remove(folder)
            folder.rmdir()
            folder.symlink_to(elsewhere)
        return found

    monkeypatch.setattr(paths, "_entries", replaced)
    paths.remove_tree(str(top))
    assert not waiting and not top.exists()
    assert elsewhere.is_dir() and elsewhere.stat().st_mode & 0o777 == 0o755


def test_what_has_secrets_runs_as_another_user_of_its_tenants(tmp_path: Path) -> None:
    read, separate, shared = settings(tmp_path), isolation.Isolation(True, [], 0), isolation.Isolation(False, [], 0)
    sealed = [replace(PLAIN, secrets=[Secret("db", env="DB")]), replace(PLAIN, master=True)]
    users = {tenant: isolation.uid_of(read, separate, tenant, PLAIN) for tenant in (1, 2, read.uid_range // 2 - 1)}
    others = {tenant: isolation.uid_of(read, separate, tenant, sealed[0]) for tenant in users}
    assert [isolation.uid_of(read, separate, 1, each) for each in sealed] == [others[1]] * 2
    found = {*users.values(), *others.values()}
    assert len(found) == 6 and found <= set(range(read.uid_base, read.uid_base + read.uid_range))
    for both in map(frozenset, zip(users.values(), others.values(), strict=True)):
        assert all(isolation.users_of(read, each) == both for each in both)
    assert isolation.uid_of(read, shared, 1, sealed[0]) == -1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes others")
def test_a_range_of_users_that_the_machine_has_not_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a namespace of users all but the first may be missing."""
    read = settings(tmp_path)
    monkeypatch.setattr(isolation, "_can_become", lambda uid, _: uid == read.uid_base)
    with pytest.raises(config.ConfigError, match=r"uid_range: .* give less than 100000"):
        isolation.detect(read, [])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has others' folders")
def test_who_goes_on_filling_a_folder_does_not_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also through what it has open there."""
    top, user = tmp_path / "top", 234_567
    (top / "work" / "below").mkdir(parents=True)
    for folder in (top / "work", top / "work" / "below"):
        os.chown(folder, user, user)
    opened = [os.open(folder, os.O_RDONLY) for folder in (top / "work", top / "work" / "below")]
    look, refused = paths._entries, []

    def filled(fd: int) -> list[tuple[str, bool]]:
        if os.fork() == 0:
            os.setresuid(user, user, user)
            status = 0
            for folder in opened:
                try:
                    os.close(os.open("more", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
                except PermissionError:
                    status += 1
                except FileNotFoundError:
                    status += 1  # the folder is gone
            os._exit(status)
        refused.append(os.waitstatus_to_exitcode(os.wait()[1]))
        return look(fd)

    monkeypatch.setattr(paths, "_entries", filled)
    paths.remove_tree(str(top))
    assert not top.exists() and refused[-1] == 2
    for fd in opened:
        os.close(fd)


def test_a_hard_link_is_no_way_to_another_file(tmp_path: Path) -> None:
    secret, inside = tmp_path / "secret", tmp_path / "in"
    secret.write_text("of somebody else")
    inside.mkdir()
    os.link(secret, inside / "result")
    with pytest.raises(paths.PathError, match="another name"):
        paths.open_regular(str(inside), "result")
    secret.unlink()  # now it is the only name
    os.close(paths.open_regular(str(inside), "result"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_no_result(tmp_path: Path) -> None:
    work, result = tmp_path / "work", tmp_path / "work" / "result"
    work.mkdir()
    result.write_text("x")
    try:
        os.chown(work, 12_345, 12_345)
    except OSError:
        pytest.skip("this host has no other users")
    with pytest.raises(paths.PathError, match="another owner"):
        paths.open_regular(str(work), "result")


def test_locked_folders_are_removed_too(tmp_path: Path) -> None:
    deep = tmp_path / "t" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "f").touch()
    for folder in (deep, deep.parent):
        folder.chmod(0)
    paths.remove_tree(str(tmp_path / "t"))
    assert not (tmp_path / "t").exists()


def test_however_many_names_there_are_few_are_held_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "AT_ONCE", 3)
    for n in range(10):
        (tmp_path / "t" / f"d{n}" / "below").mkdir(parents=True)
        for k in range(7):
            (tmp_path / "t" / f"d{n}" / f"f{k}").touch()
            (tmp_path / "t" / f"d{n}" / "below" / f"f{k}").touch()
    paths.remove_tree(str(tmp_path / "t"))
    assert not (tmp_path / "t").exists()


def test_however_deep_a_tenant_digs_its_folder_goes(tmp_path: Path) -> None:
    """With a depth at which recursion ends, a path is too long, and a descriptor a level would be too many."""
    top = tmp_path / "deep"
    top.mkdir()
    kept = tmp_path / "kept"
    kept.write_text("not theirs")
    at = os.open(top, os.O_RDONLY)
    for level in range(1_500):
        os.mkdir("a", dir_fd=at)
        os.symlink(kept, "link", dir_fd=at)
        below = os.open("a", os.O_RDONLY, dir_fd=at)
        if level % 100 == 0:
            os.chmod("a", 0, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    paths.remove_tree(str(top))
    assert not top.exists() and kept.read_text() == "not theirs"


def test_a_stream_keeps_its_newest_bytes_and_shows_the_gap(tmp_path: Path) -> None:
    writer = capture.Writer(str(tmp_path), "stdout", 16_384)
    data = bytes(i % 251 for i in range(50_000))
    for at in range(0, len(data), 777):
        writer.write(data[at : at + 777])
    held = capture.segments(str(tmp_path), "stdout")
    kept = b"".join(Path(s.path).read_bytes() for s in held)
    assert data.endswith(kept)
    assert 8_192 <= len(kept) <= 16_384
    assert held[-1].end == len(data) == writer.offset
    writer.close()
    again = capture.Writer(str(tmp_path), "stdout", 16_384)  # a new supervisor goes on
    again.write(b"more")
    assert capture.segments(str(tmp_path), "stdout")[-1].end == len(data) + 4


def test_what_a_full_disk_swallows_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = capture.Writer(str(tmp_path), "stderr", 16_384)
    writer.write(b"a" * 10)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(capture.os, "write", full)
        writer.write(b"b" * 20)
    writer.write(b"c" * 5)
    held = capture.segments(str(tmp_path), "stderr")
    assert [(s.offset, s.size) for s in held if s.size] == [(0, 10), (30, 5)]


def test_the_cache_forgets_what_was_not_used_for_longest(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c", 250)
    names = [str(i) * 64 for i in range(3)]
    for name in names[:2]:
        cache.path(name).write_bytes(b"x" * 100)
        cache.add(name, 100)
    assert cache.touch(names[0])
    cache.path(names[2]).write_bytes(b"x" * 100)
    cache.add(names[2], 100)
    assert [cache.touch(n) for n in names] == [True, False, True]
    (tmp_path / "c" / "interrupted.part").touch()
    assert sorted(Cache(tmp_path / "c", 250).sizes) == [names[0], names[2]]
    assert isinstance(cache.download_lock(names[0]), type(threading.Lock()))


def test_health_tells_full_from_readonly_and_recovers(tmp_path: Path) -> None:
    assert health.check(tmp_path, 0)[0] == NodeHealth.OK
    assert health.check(tmp_path, 1 << 40)[0] == NodeHealth.DISK_FULL
    assert health.check(Path("/proc/self"), 0)[0] & NodeHealth.WORK_FOLDER_READONLY
    assert health.check(tmp_path, 0)[0] == NodeHealth.OK


def test_the_environment_is_ours_where_it_says_hydra(tmp_path: Path) -> None:
    import dataclasses

    asked = dataclasses.replace(PLAIN, env={"HYDRA_USER": "root", "HYDRA_NEW": "x", "PATH": "/mine", "A": "b"})
    where = launchcontext.Location("n", "r", "west", "/bin", "n.example")
    env = launchcontext.environment(lease(1, gpus=0b1010), asked, "/f", where, {"web-ui": 20_001})
    assert (env["HYDRA_HOST"], env["HYDRA_PORT_WEB_UI"]) == ("n.example", "20001")
    assert env["HYDRA_USER"] == env["USER"] == env["LOGNAME"] == "ann"
    assert "HYDRA_NEW" not in env
    assert (env["PATH"], env["A"]) == ("/mine", "b")
    assert env["HYDRA_GPUS"] == env["CUDA_VISIBLE_DEVICES"] == "1,3"
    assert set(os.environ) & set(env) <= {"PATH", "HOME", "LANG", "TMPDIR", "USER", "LOGNAME", "A"}


def test_every_device_that_a_node_may_offer_can_be_named_to_a_task(tmp_path: Path) -> None:
    offered = settings(tmp_path, gpus=GPUS_MAX).gpus
    where = launchcontext.Location("n", "r", "west", "/bin", "n.example")
    env = launchcontext.environment(lease(1, gpus=(1 << offered) - 1), PLAIN, "/f", where, {})
    assert env["HYDRA_GPUS"].split(",") == [str(i) for i in range(GPUS_MAX)]


def test_markers_differ_by_folder() -> None:
    made = {isolation.marker_gid(f"/n/containers/c-1-1-{i}") for i in range(1000)}
    assert len(made) == 1000
    assert min(made) >= isolation.MARKER_BASE
    assert max(made) < 2**32 - 2
