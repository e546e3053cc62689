"""``hydractl policy`` and ``hydractl queue`` against a real web process."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from knox.models import AuthToken

from controlplane.accounts.models import Role
from controlplane.statestore.actions import accounts
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import PolicyVersion
from tests.hydractl import run
from tests.integration.api.served import web
from tests.integration.api.world import PASSWORD, Api, World

ROOT = Path(__file__).parents[3]
Done = subprocess.CompletedProcess[str]
pytestmark = pytest.mark.django_db(transaction=True)


class Hydractl:
    """``hydractl`` as one of the world's accounts; never a traceback."""

    def __init__(self, world: World, url: str, home: Path) -> None:
        self.world, self.url, self.home = world, url, home

    def __call__(self, *words: str, role: str = "operator", editor: str = "false", stdin: str = "") -> Done:
        env = {"HOME": str(self.home), "HYDRA_URL": self.url, "TMPDIR": str(self.home)}
        env |= {"HYDRA_TOKEN": self.world[role].token, "EDITOR": editor, "PATH": "/usr/bin:/bin"}
        return run(words, env, stdin)

    def good(self, *words: str, **more: Any) -> str:
        done = self(*words, **more)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout


@pytest.fixture
def hydractl(world: World, tmp_path: Path) -> Iterator[Hydractl]:
    with web() as url:
        yield Hydractl(world, url, tmp_path)


def test_an_operator_changes_the_policy_with_hydractl(hydractl: Hydractl, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    old = hydractl.good("policy", "get")
    file.write_text(old.replace("guaranteed: 0.5", "guaranteed: 45%\n    max_running_jobs: 7"))
    assert "5 queues below root, nothing wrong" in hydractl.good("policy", "validate", "-f", str(file))
    assert "is in force" in hydractl.good("policy", "apply", "-f", str(file), "-m", "less by default")
    assert "no change" in hydractl.good("policy", "apply", "-f", str(file)), "as a job that follows git does"
    file.write_text(file.read_text().replace("45%", "44%"))
    again = hydractl("policy", "apply", "-f", str(file), "-m", "twice")
    assert again.returncode == 2 and "Read it again" in again.stderr, "the file was made from an older version"
    unsaid = hydractl("policy", "apply", "-f", str(file))
    assert unsaid.returncode == 2 and "message: " in unsaid.stderr
    piped = hydractl.good("policy", "get").replace("45%", "44%")
    hydractl.good("policy", "apply", "-f", "-", "-m", "piped", stdin=piped)
    shown = [line.split() for line in hydractl.good("policy", "versions").splitlines()]
    assert [row[1] for row in shown[1:]] == ["yes", "no", "no"] and "piped" in shown[1]
    queues = {q["path"]: q for q in json.loads(hydractl.good("queues", "-o", "json"))}
    assert queues["root.default"]["max_running_jobs"] == 7
    long = hydractl("queues", "--long")
    head = long.stdout.splitlines()[0]
    assert "3.5 GiB, 3.52 cores" in long.stdout and "MAX JOBS" in head
    assert max(map(len, long.stdout.rstrip().splitlines())) <= 120
    left = long.stderr.removeprefix("Left out, with nothing in them: ").strip().split(", ")
    assert "TASKS/USER" in left and not [title for title in left if title in head]
    assert hydractl.good("queues", "--long", "--sort", "used").startswith("QUEUE ")
    assert hydractl.good("queues", "--columns", "queue,tasks/user").split("\n")[0].split() == ["QUEUE", "TASKS/USER"]
    file.write_text("queues: {default: {guarantee: 1}}")
    wrong = hydractl("policy", "apply", "-f", str(file), "-m", "wrong")
    assert wrong.returncode == 2 and "queues.default.guarantee (line 1, column 20): " in wrong.stderr
    file.write_text("queues:\n  default: {submit: [zoe]}\n")
    doubtful = hydractl("policy", "validate", "-f", str(file))
    assert doubtful.returncode == 0 and "valid, with 1 warning" in doubtful.stdout
    assert "queues.default.submit (line 2, column 13): there is no account 'zoe'" in doubtful.stderr
    assert "there is no account 'zoe'" in hydractl("policy", "diff", "-f", str(file)).stderr
    file.write_text("- a list")
    assert hydractl("policy", "validate", "-f", str(file)).returncode == 2
    assert hydractl("policy", "get", role="tenant").returncode == 2


def test_rights_in_queues(hydractl: Hydractl) -> None:
    hydractl.good("queue", "rights", "grant", "root.prod.etl", "other", "--level", "admin")
    rights = hydractl.good("queue", "rights", "list", "root.prod.etl")
    assert "other" in rights and "admin" in rights
    hydractl.good("queue", "rights", "withdraw", "root.prod.etl", "other")
    assert "other" not in hydractl.good("queue", "rights", "list", "root.prod.etl")


def test_changes_are_shown_pushed_and_rolled_back(hydractl: Hydractl, tmp_path: Path) -> None:
    file, first = tmp_path / "policy.yaml", PolicyVersion.objects.get(active=True).pk
    file.write_text(hydractl.good("policy", "get").replace("guaranteed: 0.4", "guaranteed: 0.3"))
    told = hydractl.good("policy", "diff", "-f", str(file))
    assert told == "!  root.prod guaranteed 40 % -> 30 %\n"
    assert hydractl("policy", "diff", "-f", str(file), "--exit-code").returncode == 1
    unsaid = hydractl("policy", "push", "-f", str(file))
    assert unsaid.returncode == 2 and "message: " in unsaid.stderr
    pushed = hydractl.good("policy", "push", "-f", str(file), "-m", "less for prod")
    second = int(re.search(r"version (\d+) is in force", pushed)[1])  # type: ignore[index]
    assert "40 % -> 30 %" in pushed and second > first
    assert "30 % -> 40 %" in hydractl.good("policy", "diff", str(second), str(first))
    assert hydractl.good("policy", "diff", str(second)) == "Nothing changes.\n"
    assert json.loads(hydractl.good("policy", "diff", str(first), "-o", "json"))["total"] == 1
    assert hydractl("policy", "diff").returncode == 2
    back = hydractl("policy", "rollback", str(first), "-m", "it was better")
    said = f"version {second + 1} is in force, and says what version {first} said"
    assert back.returncode == 0 and "30 % -> 40 %" in back.stdout and back.stdout.splitlines()[-1] == said
    assert back.stderr.splitlines()[-1] == "Who runs it: hydractl policy status"
    assert f"no change: {said}" in hydractl.good("policy", "rollback", str(first), "-m", "it was better")


def test_edit_loses_nothing_that_was_typed(hydractl: Hydractl, tmp_path: Path) -> None:
    def kept(done: Done) -> Path:
        assert done.returncode == 2, done.stdout
        return Path(re.search(r"kept in (\S+\.yaml);", done.stderr)[1])  # type: ignore[index]

    assert "Nothing was changed" in hydractl("policy", "edit", editor="true").stderr
    assert not list(tmp_path.glob("hydra-policy-*"))
    assert kept(hydractl("policy", "edit")).exists(), "the editor failed"
    done = hydractl("policy", "edit", "-m", "less", editor="sed -i 's/guaranteed: 0.4/guaranteed: 0.3/'")
    assert done.returncode == 0 and "40 % -> 30 %" in done.stdout and "is in force" in done.stdout, done.stderr
    unsaid = hydractl("policy", "edit", editor="sed -i 's/guaranteed: 0.3/guaranteed: 0.2/'")
    assert "message: " in unsaid.stderr and "guaranteed: 0.2" in kept(unsaid).read_text()
    wrong = hydractl("policy", "edit", "-m", "x", editor="sed -i 's/guaranteed: 0.3/guaranteed: 7/'")
    assert "queues.prod.guaranteed" in wrong.stderr and "guaranteed: 7" in kept(wrong).read_text()
    text = kept(unsaid)
    hydractl.good("policy", "push", "-f", "-", "-m", "meanwhile", stdin=_without_version(hydractl, "0.1", "0.05"))
    other = hydractl("policy", "edit", "-f", str(text), "-m", "on", editor="true")
    assert other.returncode == 0 and "5 % -> 10 %" in other.stdout, "what others did is shown before it is undone"
    assert "# since version" in text.read_text() and "root.closed guaranteed 10 % -> 5 %" in text.read_text()
    assert "guaranteed: 0.2" in hydractl.good("policy", "get")


def _without_version(hydractl: Hydractl, old: str, new: str) -> str:
    text = hydractl.good("policy", "get").partition("\n")[2]
    return text.replace(f"guaranteed: {old}\n", f"guaranteed: {new}\n")


def test_a_second_operator_approves(hydractl: Hydractl, world: World, tmp_path: Path) -> None:
    user = accounts.create(SYSTEM, "second", PASSWORD, Role.OPERATOR)
    world.apis["second"] = Api(AuthToken.objects.create(user)[1])
    file = tmp_path / "policy.yaml"
    text = hydractl.good("policy", "get")
    file.write_text(text.replace("required: false", "required: true"))
    assert "is in force" in hydractl.good("policy", "push", "-f", str(file), "-m", "four eyes")
    file.write_text(hydractl.good("policy", "get").replace("guaranteed: 0.4", "guaranteed: 0.3"))
    told = hydractl.good("policy", "push", "-f", str(file), "-m", "less")
    number = re.search(r"proposal (\d+) waits", told)[1]  # type: ignore[index]
    assert "less" in hydractl.good("policy", "proposals")
    assert "40 % -> 30 %" in hydractl.good("policy", "proposals", number)
    text = hydractl.good("policy", "proposals", number, "--document")
    assert text.startswith("# version ") and "guaranteed: 0.3" in text, "to be made again from a newer base"
    assert hydractl("policy", "approve", number, "-m", "me").returncode == 2
    assert hydractl("policy", "approve", number, role="second").returncode == 2, "without a message"
    assert "approved: version " in hydractl.good("policy", "approve", number, "-m", "fine", role="second")
    assert "operator, approved by second" in hydractl.good("policy", "versions")
    added = hydractl.good("policy", "overrides", "add", "root.prod", "weight", "--to", "3", "--for", "2h", "-m", "x")
    number = re.search(r"proposal (\d+) waits", added)[1]  # type: ignore[index]
    assert "has no document" in hydractl("policy", "proposals", number, "--document").stderr
    assert "withdrawn" in hydractl.good("policy", "reject", number, "-m", "no")
    assert "No change waits" in hydractl("policy", "proposals").stderr


def test_overrides(hydractl: Hydractl) -> None:
    add = ("policy", "overrides", "add", "root.prod")
    made = hydractl.good(*add, "guaranteed", "--by", "+10%", "--until", "+2h", "-m", "a launch")
    assert re.match(r"override \d+: root.prod guaranteed \+10 %, in force until ", made), made
    number = made.split()[1].rstrip(":")
    planned = hydractl.good(*add, "max_running_jobs", "--to", "5", "--start", "monday", "--for", "2h", "-m", "calm")
    assert "planned from" in planned
    listed = hydractl.good("policy", "overrides", "list")
    assert "in force" in listed and "planned" in listed and "a launch" in listed
    assert "guaranteed: 0.44" in hydractl.good("policy", "get", "--effective")
    plain = hydractl("policy", "get")
    assert "guaranteed: 0.4\n" in plain.stdout and f"change this now: {number}" in plain.stderr
    assert "root.prod guaranteed 40 % -> 44 %" in hydractl.good("policy", "diff", "-f", "-", stdin=plain.stdout)
    assert "is cancelled" in hydractl.good("policy", "overrides", "cancel", number)
    assert "cancelled" in hydractl.good("policy", "overrides", "list", "--all")
    for words in (
        ("guaranteed", "--by", "much", "--for", "2h"), ("guaranteed", "--for", "2h"), ("weight", "--to", "2"),
        ("weight", "--to", "2", "--for", "2h", "--until", "+2h"), ("weight", "--to", "2", "--until", "friday noon"),
        ("ordering", "--to", "fifo", "--for", "2h"),
    ):  # fmt: skip
        refused = hydractl(*add, *words, "-m", "x")
        assert refused.returncode == 2 and refused.stderr.startswith("hydractl: "), words
