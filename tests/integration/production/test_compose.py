"""The production shape: every service's command exists, and Django accepts the settings it declares."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from django.core.management import get_commands

from tests import forked

ROOT = Path(__file__).resolve().parents[3]
GIVEN = {
    "POSTGRES_PASSWORD": "one-secret",
    "REDIS_PASSWORD": "another-secret",
    "BROKER_PASSWORD": "third-secret",
    "HYDRA_SECRET_KEY": "k9-" + "abcdefghijklmnopqrstuvwxyz0123456789" * 2,
    "HYDRA_HOSTNAME": "hydra.example",
    "HYDRA_OPERATOR_PASSWORD": "a-long-operator-password",
}
VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


def filled(value: str) -> str:
    """As compose fills ``${NAME}``, ``${NAME:-default}`` and ``${NAME:?message}``."""
    return VARIABLE.sub(lambda m: GIVEN.get(m[1], m[3] if m[2] == "-" else ""), value)


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    return found


OURS = {name: s for name, s in services().items() if "build" in s}
CONTROL_PLANE = {name: s for name, s in OURS.items() if name != "node"}


def environment(service: dict[str, Any]) -> dict[str, str]:
    return {name: filled(str(value)) for name, value in service["environment"].items()}


def manage(words: list[str], extra: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("HYDRA_", "DATABASE_URL", "REDIS_URL"))}
    environ |= {"HYDRA_VENV": sys.prefix, **extra}
    return forked.run(["manage.py", *words], environ, ROOT)


def test_every_role_has_a_service():
    assert {filled(s["command"][0]) for s in OURS.values()} == {"prepare", "web", "beat", "worker", "node"}


@pytest.mark.parametrize("name", sorted(OURS))
def test_its_command_exists_and_takes_its_arguments(name: str):
    command = [filled(word) for word in OURS[name]["command"]]
    assert get_commands()[command[0]]
    usage = manage([command[0], "--help"], environment(OURS[name])).stdout
    for option in (word for word in command if word.startswith("--")):
        assert option in usage


@pytest.mark.parametrize("name", sorted(CONTROL_PLANE))
def test_its_settings_validate_for_production(name: str):
    done = manage(["check", "--deploy", "--fail-level", "WARNING"], environment(CONTROL_PLANE[name]))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(CONTROL_PLANE))
def test_every_connection_is_encrypted(name: str):
    environ = environment(CONTROL_PLANE[name])
    assert "sslmode=verify-full" in environ["DATABASE_URL"]
    assert all(environ[n].startswith("rediss://") for n in ("REDIS_URL", "HYDRA_BROKER_URL", "HYDRA_NODE_REDIS_URL"))
    assert environ["HYDRA_PUBLIC_URL"].startswith("https://")


def test_the_node_managers_settings_are_known():
    from nodemanager import config

    loaded = config.load("", environment(OURS["node"]))
    assert loaded.control_plane == "https://hydra.example:8470"
    assert loaded.ca_file == "/pki/ca.crt"


def test_a_tenants_tasks_find_nothing_of_the_agents_or_the_control_planes() -> None:
    node = OURS["node"]
    assert node["user"].split(":")[0] == "0", "only root gives each tenant a user of its own"
    sources = [filled(volume).rsplit(":", 2 if volume.endswith(":ro") else 1)[0] for volume in node["volumes"]]
    assert [source.rpartition("/")[2] for source in sources] == ["ca.crt", "join", "node"]
    assert not [value for name, value in environment(node).items() if name.endswith("JOIN_TOKEN")], "init keeps it"
    where = environment(node)["HYDRA_NODE_DIR"]
    assert any(filled(volume) == f"node:{where}" for volume in node["volumes"])
    assert not where.startswith("/var/lib/hydra/"), "the home of the image's own user is closed to tenants' users"


def test_what_serves_on_a_node_is_reached_and_the_node_reaches_what_it_needs() -> None:
    node, everything = OURS["node"], services()
    assert node["network_mode"] == "host" and not {"ports", "networks", "depends_on"} & set(node)
    where = {
        "web": environment(node)["HYDRA_NODE_CONTROL_PLANE"],
        "redis": environment(OURS["web"])["HYDRA_NODE_REDIS_URL"],
    }
    for name, url in where.items():
        address = urlsplit(url)
        assert address.hostname == "hydra.example", "a name that is known outside of compose"
        assert [port.split(":")[0] for port in everything[name]["ports"]] == [str(address.port)]


def started(folder: Path, password: str) -> list[str]:
    """The users of Redis when its container starts with this password."""
    (script,) = services()["redis"]["command"]
    before, server, _ = script.replace("$$", "$").partition("exec valkey-server")
    assert server and before.count("/data") == 1
    run = ["/bin/sh", "-c", before.replace("/data", str(folder))]
    subprocess.run(run, env={"PASSWORD": password, "PATH": os.defpath}, check=True)
    assert [p.name for p in folder.iterdir()] == ["users.acl"] and (folder / "users.acl").stat().st_mode & 0o77 == 0
    return (folder / "users.acl").read_text().splitlines()


def test_another_password_of_redis_is_in_force_from_its_next_start(tmp_path: Path) -> None:
    nobody = "user default off resetpass resetkeys resetchannels -@all"
    assert started(tmp_path, "first") == [nobody, "user hydra on >first ~* &* +@all"]
    node = "user node-3 on sanitize-payload #5e88 %R~d:1:3 resetchannels &w:1:3 -@all +get (%W~n:1 -@all +zadd)"
    cut_off = "user node-4 on"
    saved = [nobody, "user hydra on sanitize-payload #a7f1 ~* &* +@all", node, cut_off]
    (tmp_path / "users.acl").write_text("\n".join(saved))
    assert started(tmp_path, "second") == [node, nobody, "user hydra on >second ~* &* +@all"]
    assert services()["broker"]["command"] == services()["redis"]["command"]


def test_the_image_installs_with_what_was_copied_by_then(tmp_path: Path):
    before, _, _ = (ROOT / "Dockerfile").read_text().partition("RUN python3 manage.py install")
    for line in before.splitlines():
        match line.split():
            case ["COPY", *sources, target]:
                for source in sources:
                    to = tmp_path / target / ("" if (ROOT / source).is_dir() else source.rpartition("/")[2])
                    to.parent.mkdir(parents=True, exist_ok=True)
                    copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
                    copy(ROOT / source, to)
    environ = {"HYDRA_VENV": sys.prefix, "HYDRA_HOME": str(tmp_path / "home"), "PATH": os.defpath}
    done = forked.run(["manage.py", "install"], environ, tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_image_leaves_no_secret_behind():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {".git", ".hydra", ".venv"} <= set(ignored)
    beside = re.findall(r"\$\{\w+:-\./(\w+)\}", (ROOT / "docker-compose.yml").read_text())
    assert {"pki", "join"} == set(beside), "folders of secrets that compose reads beside it"
    assert {".env", *beside} <= set(ignored)
