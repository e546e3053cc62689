"""The guides name every setting, command and field; what they name exists; public names say what they mean."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract import jobspec, masters
from controlplane.embedded.management.commands.bench import benchmarks

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "operators.md"
TENANTS = ROOT / "docs" / "tenants.md"
CHANGING = ROOT / "docs" / "changing.md"
THREATS = ROOT / "docs" / "threat-model.md"
SOURCES = ("manage.py", "controlplane", "client", "nodemanager")
SETTING = re.compile(r"\b(HYDRA_[A-Z0-9_]+|DATABASE_URL|REDIS_URL)\b")
# Variables a process hands to its own children or tasks, and those of tests: not settings of an operator.
INTERNAL = {
    "HYDRA_WORKER", "HYDRA_OUTPUT", "HYDRA_SOAK", "HYDRA_DATA", "HYDRA_CASES", "HYDRA_URL", "HYDRA_TOKEN",
}  # fmt: skip
OF_TASKS = re.compile(
    r"HYDRA_(JOB|GROUP|TASK|ATTEMPT|CONTAINER_ID|QUEUE|USER|NODE|RACK|SUB_CLUSTER|HOST|PORT|AM_TOKEN|API|WORK_DIR|GPUS)(_|$)"
)


def settings() -> set[str]:
    found = set()
    for source in SOURCES:
        path = ROOT / source
        for file in [path] if path.is_file() else path.rglob("*.py"):
            found |= set(SETTING.findall(file.read_text()))
    return {name for name in found if name not in INTERNAL and not OF_TASKS.match(name) and not name.endswith("_")}


def commands() -> set[str]:
    return {p.stem for p in ROOT.glob("controlplane/*/management/commands/*.py")} - {"__init__"}


@pytest.fixture(scope="module")
def guide() -> str:
    return GUIDE.read_text()


def test_settings(guide: str):
    missing = sorted(name for name in settings() if name not in guide)
    assert not missing, f"docs/operators.md does not mention {', '.join(missing)}"


def test_commands(guide: str):
    missing = sorted(name for name in commands() if f"manage.py {name}" not in guide)
    assert not missing, f"docs/operators.md does not mention manage.py {', '.join(missing)}"


def test_benchmarks():
    text = (ROOT / "docs" / "performance.md").read_text()
    missing = [name for name in benchmarks() if name not in text]
    assert not missing, f"docs/performance.md does not mention {', '.join(missing)}"


JOB_FILE = (
    jobspec.JobSpec, jobspec.GroupSpec, jobspec.MasterSpec, jobspec.ContainerSpec, jobspec.Resources, jobspec.FileSpec,
    jobspec.InputSpec, jobspec.OutputSpec, jobspec.Locality, jobspec.PortSpec, jobspec.HealthCheckSpec,
    masters.AskSpec, masters.LaunchSpec,
)  # fmt: skip


def test_fields_of_the_job_file():
    text = TENANTS.read_text()
    names = {name for model in JOB_FILE for name in model.model_fields}
    missing = sorted(name for name in names if not re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", text))
    assert not missing, f"docs/tenants.md does not mention {', '.join(missing)}"


def test_no_example_has_a_date_that_passes():
    """What people copy is refused, or shows nothing, from that day on."""
    commands = [(p, line) for p in (GUIDE, TENANTS, ROOT / "README.md") for line in p.read_text().splitlines()]
    commands = [(p, line) for p, line in commands if "hydractl " in line or "manage.py " in line]
    commands += [(p, line) for p in ROOT.glob("client/commands/*.py") for line in p.read_text().splitlines()]
    assert len(commands) > 1000
    dated = [f"{p.name}: {line.strip()}" for p, line in commands if re.search(r"\b20\d\d-[01]\d\b", line)]
    assert not dated, f"write it relative to now, or as YYYY-MM-DD: {dated}"


def test_where_a_change_goes_names_what_exists():
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|md|toml|txt))(?:::(\w+))?`", CHANGING.read_text())
    assert len(named) > 40
    gone = [path for path, _ in named if not (ROOT / path).exists()]
    assert not gone, f"docs/changing.md names what is not there: {', '.join(gone)}"
    tests = [(path, test) for path, test in named if test]
    lost = [f"{path}::{test}" for path, test in tests if f"def {test}(" not in (ROOT / path).read_text()]
    assert not lost, f"docs/changing.md names tests that are not there: {', '.join(lost)}"


def test_what_stops_an_attack_is_tested():
    """Every line of the threat model names tests, and they exist."""
    lines = [line for line in THREATS.read_text().splitlines() if line.startswith("|")]
    scenarios = [line.split("|") for line in lines if not re.match(r"\|(-|\s*scenario\b)", line)]
    assert len(scenarios) > 15
    for _, scenario, stopped, tests, _ in scenarios:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", tests)
        assert stopped.strip() and named, f"no test of: {scenario}"
        lost = [f"{path}::{test}" for path, test in named if f"def {test}(" not in (ROOT / path).read_text()]
        assert not lost, f"docs/threat-model.md names tests that are not there: {', '.join(lost)}"


EXPLAINED = ("nodemanager",)  # packages of which every public name has a docstring
WORDS = re.compile(r"[a-z]{2,}")


def public(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Classes, functions and methods whose name, and whose class's name, begins with a letter."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield within + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body, f"{within}{node.name}.")


def says_more(name: str, docstring: str) -> bool:
    """Whether it has words that are not the name's own."""
    known = set(WORDS.findall(re.sub(r"([A-Z])", r" \1", name).lower().replace("_", " ")))
    return len(set(WORDS.findall(docstring.lower())) - known) >= 3


@pytest.mark.parametrize("package", EXPLAINED)
def test_public_names_are_explained(package: str):
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} {name}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for name, node in public(ast.parse(path.read_text()).body)
        if not says_more(name, ast.get_docstring(node) or "")
    ]
    assert not wrong, "no docstring, or one that only repeats the name: " + ", ".join(wrong)
