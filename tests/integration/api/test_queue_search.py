"""Finding a queue among thousands: bounded answers, whatever the tree."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.accounts.models import QueueAccess
from controlplane.policy import versions
from controlplane.statestore.actions import accounts
from controlplane.statestore.actions.audit import SYSTEM
from tests.integration.api.world import Api, World

pytestmark = pytest.mark.django_db(transaction=True)
FEW_BYTES = 80_000  # 50 queues with their limits


def teams(groups: int, each: int) -> dict[str, Any]:
    """So many groups of so many leaves, every tenth of them open to all, the first of each group stopped."""
    leaves = {
        f"team{n:03d}": {"guaranteed": 0.9 / each}
        | ({"state": "stopped"} if n == 0 else {"open_to_all": True} if n % 10 == 1 else {})
        for n in range(each)
    }
    return {"queues": {f"g{g:02d}": {"guaranteed": 0.9 / groups, "children": leaves} for g in range(groups)}}


def paths(api: Api, query: str) -> list[str]:
    answer = api.get(f"queues?{query}")
    assert answer.status_code == 200, answer.content
    return [row["path"] for row in answer.json()["results"]]


def test_the_list_is_whole_unless_something_is_asked_for(world: World) -> None:
    versions.publish(SYSTEM, teams(3, 30), "teams")
    everything = world["operator"].get("queues").json()
    assert len(everything["results"]) == 1 + 3 + 90 and everything["next"] is None
    assert paths(world["operator"], "contains=G01.TEAM02") == [f"root.g01.team02{n}" for n in range(10)]
    assert paths(world["operator"], "contains=nowhere") == []
    assert paths(world["viewer"], "may_submit=yes") == []
    submits = paths(world["operator"], "may_submit=yes&page_size=500")
    assert len(submits) == 3 * 29 and "root.g00.team000" not in submits and "root.g00" not in submits
    assert paths(world["operator"], "may_submit=no&page_size=500") == [q["path"] for q in everything["results"]]
    assert world["operator"].get("queues?may_submit=perhaps").status_code == 422


def test_a_tenant_finds_only_what_it_may_use(world: World) -> None:
    versions.publish(SYSTEM, teams(2, 30), "teams")
    accounts.grant_queue(SYSTEM, world.users["other"], "root.g01", QueueAccess.Level.SUBMIT)
    open_to_all = [f"root.g00.team0{n}1" for n in range(3)]
    assert paths(world["other"], "contains=g00&may_submit=yes") == open_to_all
    assert len(paths(world["other"], "contains=g01&may_submit=yes")) == 29
    assert paths(world["other"], "whole=yes&page_size=2") == ["root.g01", "root.g01.team000"]
    assert paths(world["other"], "contains=g00&whole=yes") == []


def test_pages_go_on_and_back(world: World) -> None:
    versions.publish(SYSTEM, teams(2, 30), "teams")
    seen, address = [], "queues?contains=team&page_size=25"
    while address:
        page = world["operator"].get(address).json()
        seen += [row["path"] for row in page["results"]]
        last, address = page, (page["next"] or "").partition("/api/v1/")[2]
    assert seen == sorted(seen) and len(seen) == 60
    before = world["operator"].get(last["previous"].partition("/api/v1/")[2]).json()
    assert [row["path"] for row in before["results"]] == seen[25:50]


def test_among_five_thousand_queues_an_answer_is_short_and_made_of_as_few_queries(world: World) -> None:
    asked = "queues?contains=team0&may_submit=yes&page_size=50"
    versions.publish(SYSTEM, teams(2, 30), "few")
    few = queries(world["operator"], asked)
    versions.publish(SYSTEM, teams(25, 200), "many")
    assert len(world["operator"].get("queues").json()["results"]) == 5026
    many = queries(world["operator"], asked)
    assert many == few
    answer = world["operator"].get(asked)
    assert len(answer.json()["results"]) == 50 and answer.json()["next"]
    assert len(json.dumps(answer.json())) < FEW_BYTES
    assert paths(world["operator"], "contains=g24.team199&may_submit=yes&page_size=50") == ["root.g24.team199"]


def queries(api: Api, address: str) -> int:
    """How many statements an answer takes, when the tree is known already."""
    api.get(address)
    with CaptureQueriesContext(connection) as asked:
        assert api.get(address).status_code == 200
    return len(asked)
