"""``hydractl account``, ``token``, ``join-token``, ``audit``, ``password`` and ``health`` on a real web process."""

import csv
import datetime as dt
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controlplane.policy import versions
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import UsageHour, UsageTag
from controlplane.statestore.queries.accounts import secrets
from tests.hydractl import run
from tests.integration.api.served import web
from tests.integration.api.world import PASSWORD, World

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def hydractl(transactional_db: None, world: World, tmp_path: Path) -> Iterator[Shell]:
    with web() as url:

        def call(*words: str, token: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
            env = {"HOME": str(tmp_path), "HYDRA_URL": url, "HYDRA_TOKEN": token}
            return run(words, env, stdin)

        yield call


def test_accounts_and_tokens_from_the_shell(world: World, hydractl: Shell) -> None:
    operator, tenant = world["operator"].token, world["tenant"].token
    words = ("account", "create", "ada", "--role", "viewer", "--password-stdin")
    weak = hydractl(*words, token=operator, stdin="password\n")
    assert weak.returncode == 2 and "password" in weak.stderr
    assert hydractl(*words, token=operator, stdin=PASSWORD + "\n").returncode == 0
    assert "viewer" in hydractl("account", "show", "ada", token=operator).stdout
    assert hydractl("account", "role", "ada", "tenant", token=operator).returncode == 0
    assert hydractl("account", "role", "tenant", "operator", token=tenant).returncode == 2
    refused = hydractl("account", "close", "operator", token=operator)
    assert refused.returncode == 2 and "nobody changes their own account" in refused.stderr
    assert "closed" in hydractl("account", "close", "ada", token=operator).stdout
    listed = hydractl("account", "list", "--name", "ad", token=operator).stdout
    assert "ada" in listed and "admin" in listed and "viewer" not in listed

    etl = {"guaranteed": 1.0, "submit": ["role:tenant"]}
    versions.publish(SYSTEM, {"queues": {"prod": {"guaranteed": 1.0, "children": {"etl": etl}}}}, "names a role")
    for words in (("list", "--name", "submitter"), ("show", "submitter")):
        shown = hydractl("account", *words, token=operator).stdout
        assert "root.prod (submit), root.prod.etl (submit, policy)" in shown

    made = hydractl("token", "create", "ci", "--valid", "2h", token=tenant).stdout.strip()
    assert "tenant" in hydractl("me", token=made).stdout
    assert "ci" in hydractl("token", "list", token=made).stdout
    assert hydractl("token", "revoke", "ci", token=tenant).returncode == 0
    assert hydractl("me", token=made).returncode == 2

    assert hydractl("token", "create", "leaked", token=tenant).returncode == 0
    assert "leaked" in hydractl("account", "tokens", "tenant", token=operator).stdout
    assert hydractl("account", "revoke-token", "tenant", "leaked", token=tenant).returncode == 2
    assert hydractl("account", "revoke-token", "tenant", "leaked", token=operator).returncode == 0
    assert "leaked" not in hydractl("token", "list", token=tenant).stdout

    health = hydractl("health", token=operator)
    assert "postgres" in health.stdout and "manage.py worker" in health.stdout and health.returncode == 0
    assert hydractl("health", "--exit-code", token=operator).returncode == 1, "nobody leads"
    assert hydractl("health", token=tenant).returncode == 2


def test_join_tokens_the_audit_log_and_the_own_password_from_the_shell(world: World, hydractl: Shell) -> None:
    operator, tenant = world["operator"].token, world["tenant"].token
    spare = hydractl(
        "sub-cluster", "join-token", "west", "--valid", "30d", "--node", "n7", "--note", "rack 7", token=operator
    )
    listed = hydractl("join-token", "list", token=operator).stdout
    (line,) = [line for line in listed.splitlines() if "rack 7" in line]
    assert "node n7, once" in line and spare.stdout.strip() not in listed
    name = line.split()[0]
    assert hydractl("join-token", "revoke", name, token=tenant).returncode == 2
    assert hydractl("join-token", "revoke", name, token=operator).returncode == 0
    assert "rack 7" not in hydractl("join-token", "list", token=operator).stdout
    for unknown in ("node/999999", "rack 7"):
        assert hydractl("join-token", "revoke", unknown, token=operator).returncode == 2

    assert hydractl("account", "close", "submitter", token=operator).returncode == 0
    done = hydractl("audit", "--action", "account.active", "--target", "account", token=operator).stdout
    assert "account.active" in done and "account.create" not in done
    assert hydractl("audit", token=tenant).returncode == 2

    wrong = hydractl("password", "--password-stdin", token=tenant, stdin=f"mistaken\n{PASSWORD}-2\n")
    assert wrong.returncode == 2 and "current" in wrong.stderr
    right = hydractl("password", "--password-stdin", token=tenant, stdin=f"{PASSWORD}\n{PASSWORD}-2\n")
    assert right.returncode == 0, right.stderr
    assert hydractl("me", token=tenant).returncode == 2, "every token has ended"


def test_secrets_from_the_shell_come_from_files_and_streams_and_not_from_arguments(
    world: World, hydractl: Shell, tmp_path: Path
) -> None:
    tenant, owner = world["tenant"].token, world.users["tenant"].pk
    assert hydractl("secret", "put", "one", token=tenant, stdin="hunter2\n").returncode == 0
    assert hydractl("secret", "put", "two", token=tenant, stdin="-- BEGIN\n-- END\n").returncode == 0
    assert secrets.values(owner, {"one", "two"}).secrets == {"one": "hunter2", "two": "-- BEGIN\n-- END\n"}
    assert hydractl("secret", "put", "one", "hunter3", token=tenant).returncode == 2
    (tmp_path / "value").write_bytes(b"\xff\x00")
    refused = hydractl("secret", "put", "one", "--file", str(tmp_path / "value"), token=tenant)
    assert refused.returncode == 2 and "base64" in refused.stderr
    assert "file" in hydractl("secret", "put", "one", "--file", str(tmp_path / "none"), token=tenant).stderr
    (tmp_path / "value").write_text("hunter4\r\n")
    put = hydractl("secret", "put", "one", "-f", str(tmp_path / "value"), "-o", "json", token=tenant)
    assert json.loads(put.stdout)["name"] == "one" and secrets.values(owner, {"one"}).secrets == {"one": "hunter4"}
    listed = hydractl("secret", "list", token=tenant).stdout
    assert "one" in listed and "two" in listed and "hunter" not in listed + put.stdout
    assert hydractl("secret", "delete", "one", token=tenant).returncode == 0
    assert "no secret one" in hydractl("secret", "delete", "one", token=tenant).stderr


def test_what_all_accounts_used_is_a_file_for_operators(world: World, hydractl: Shell) -> None:
    operator, now = world["operator"].token, dt.datetime.now(dt.UTC)
    used = {
        "queue": "root.free",
        "sub_cluster_id": 1,
        "containers": 2,
        "memory_mib_s": 1,
        "vcores_milli_s": 1,
        "gpu_s": 0,
    }
    for name in ("tenant", "other"):
        owner = world.users[name].pk
        UsageHour.objects.create(hour=now.replace(minute=0, second=0, microsecond=0), owner_id=owner, **used)
        UsageTag.objects.create(day=now.date(), owner_id=owner, tag="", **used)
    for words in ((), ("--by-tag",)):
        done = hydractl("usage", "--csv", "--all-accounts", *words, token=operator)
        rows = list(csv.DictReader(done.stdout.splitlines()))
        assert {row["owner"]: row["containers"] for row in rows} == {"tenant": "2", "other": "2"}, done.stderr
    refused = hydractl("usage", "--csv", "--all-accounts", token=world["tenant"].token)
    assert refused.returncode == 2 and "only operators and viewers" in refused.stderr
    unclear = hydractl("usage", "--all-accounts", token=operator)
    assert unclear.stderr == "hydractl: --all-accounts: is of the CSV file alone. Add --csv.\n"
    assert "(no tag)" in hydractl("usage", "--by-tag", token=world["tenant"].token).stdout
    each = hydractl("usage", "--by-account", "--columns", "account,containers", "--sort", "account", token=operator)
    assert [line.split() for line in each.stdout.splitlines()[1:]] == [["other", "2"], ["tenant", "2"]]
    assert hydractl("usage", "--by-account", token=world["tenant"].token).returncode == 2
    mixed = hydractl("usage", "--by-account", "--csv", token=operator)
    assert (mixed.returncode, mixed.stdout) == (2, "") and "--by-account: is a table of its own" in mixed.stderr
