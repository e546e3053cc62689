"""A strategy is registered once, has the same name in code, policy document and job file, and heeds its parameters."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from contract import queues
from contract.jobspec import GroupSpec
from contract.policy.components import Components, Placement, Preemption
from contract.policy.document import QueuePolicy
from contract.policy.federation import PROXIES, ROUTERS, RouterParameters
from contract.policy.findings import models_in
from contract.policy.pairs import PARTNERS
from contract.policy.parts import BackfillName
from contract.policy.shares import Shares
from controlplane.statestore.models import Queue
from scheduler import registry
from scheduler.federation.routing import FALLBACKS

ROOT = Path(__file__).resolve().parents[2]


def choices(model: Any, field: str) -> set[str]:
    """The names that a field takes, null left out."""
    annotation = model.model_fields[field].annotation
    return {name for part in (annotation, *get_args(annotation)) for name in get_args(part) if isinstance(name, str)}


def of(parts: tuple[Any, ...]) -> set[str]:
    """The names of the policies that these parts of a document stand for."""
    return {name for part in parts for name in choices(part, "policy")}


@pytest.mark.parametrize(
    ("stage", "code", "taken", "where"),
    [
        ("placement", set(registry.PLACEMENT), choices(Placement, "policy"), "components.py: Placement"),
        ("ordering", set(registry.ORDERING), choices(QueuePolicy, "ordering"), "document.py: QueuePolicy"),
        ("backfill", set(registry.BACKFILL), set(get_args(BackfillName)), "parts.py: BackfillName"),
        ("routing", set(registry.ROUTING), of(ROUTERS), "federation.py: a part in ROUTERS"),
        ("routing", set(registry.ROUTING), set(PARTNERS), "pairs.py: PARTNERS"),
        ("fallback", set(FALLBACKS), choices(RouterParameters, "fallback"), "federation.py: fallback"),
        ("splitting", set(registry.SPLITTING), of(PROXIES), "federation.py: a part in PROXIES"),
        ("shares", set(registry.SHARES), choices(Shares, "policy"), "shares.py: Shares"),
        ("preemption", set(registry.PREEMPTION), choices(Preemption, "policy"), "components.py: Preemption"),
    ],
)
def test_documents_take_the_strategies_that_there_are(stage: str, code: set[str], taken: set[str], where: str) -> None:
    assert taken == code, (
        f"{stage}: add to (or remove from) {where} in contract/policy: {', '.join(sorted(taken ^ code))}"
    )


def test_what_a_job_a_row_or_an_answer_may_name_exists() -> None:
    assert choices(GroupSpec, "placement") <= set(registry.PLACEMENT), "contract/jobspec.py: GroupSpec.placement"
    assert set(Queue.Ordering.values) == set(registry.ORDERING), "statestore/models/queues.py: Queue.Ordering"
    said = queues.Queue.model_json_schema()["properties"]["ordering"]["enum"]
    assert set(said) == set(registry.ORDERING), "contract/queues.py: Queue.ordering"


def parameters() -> Iterator[tuple[str, str]]:
    """Component and name of every parameter of every policy."""
    for component, field in Components.model_fields.items():
        for part in models_in(field.annotation):
            chosen: Any = part.model_fields["parameters"].annotation
            yield from ((component, name) for name in chosen.model_fields)


def test_every_parameter_is_read() -> None:
    readers = [path for folder in ("controlplane", "scheduler") for path in (ROOT / folder).rglob("*.py")]
    words = {word for path in readers for word in re.findall(r"\w+", path.read_text())}
    unread = sorted({f"{component}.parameters.{name}" for component, name in parameters() if name not in words})
    assert not unread, f"nothing reads {', '.join(unread)}: of what a round decides, add it to rm/steps/policies.py"


def test_nobody_compares_names_of_strategies() -> None:
    names = {*registry.ROUTING, *registry.SPLITTING, *registry.SHARES, *registry.PREEMPTION}
    compared = re.compile(rf"(?:[=!]=|\bin \() ?\"(?:{'|'.join(names)})\"")
    files = [path for folder in ("controlplane", "scheduler", "simulator") for path in (ROOT / folder).rglob("*.py")]
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in files
        for line in path.read_text().splitlines()
        if "policy" in line and compared.search(line)
    ]
    assert not found, f"what others need to know of a strategy is a field of what is registered: {found}"
