"""Accounts and tokens: who keeps them, what ends at once, and what nobody can do to themselves."""

import json
import secrets
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from knox.models import AuthToken
from rest_framework.throttling import SimpleRateThrottle

from contract.accounts import Account, AccountPage, JoinTokenList, NewToken, TokenList
from contract.system import ComponentList
from controlplane.accounts.models import Role, User
from controlplane.policy import versions
from controlplane.statestore.actions import accounts, joining, nodes
from controlplane.statestore.actions.audit import SYSTEM, Actor
from controlplane.statestore.errors import Conflict, Forbidden
from controlplane.statestore.models import AuditEntry, SubCluster
from controlplane.statestore.queries.accounts import tokens
from tests.integration.api.world import PASSWORD, POLICY, Api, World

pytestmark = pytest.mark.django_db
OTHER_PASSWORD = "quite-another-password"


def browser(name: str, password: str = PASSWORD) -> Client:
    """Signed in as a browser is."""
    tab = Client()
    body = json.dumps({"username": name, "password": password})
    assert tab.post("/api/v1/auth/session", body, "application/json").status_code == 200
    return tab


def test_an_operator_keeps_accounts(world: World) -> None:
    operator = world["operator"]
    made = operator.post("accounts", {"username": "ada", "password": PASSWORD, "role": "viewer"})
    assert made.status_code == 201
    Account.model_validate(made.json(), extra="forbid")
    assert operator.post("accounts/ada/role", {"role": "tenant"}).json()["role"] == "tenant"
    listed = operator.get("accounts?name=AD&role=tenant").json()
    AccountPage.model_validate(listed, extra="forbid")
    assert [a["username"] for a in listed["results"]] == ["admin", "ada"]
    assert listed["results"][0]["queues"] == [{"path": "root.prod", "level": "admin", "source": "grant"}]
    first = operator.get("accounts?page_size=2").json()
    assert len(first["results"]) == 2 and operator.get(first["next"].split("/api/v1/")[1]).json()["results"]
    actions = AuditEntry.objects.filter(actor=world.users["operator"]).values_list("action", flat=True)
    assert {"account.create", "account.role"} <= set(actions)


def test_queues_of_accounts_are_told_with_what_the_policy_gives(world: World) -> None:
    web, etl = {"submit": ["submitter"]}, {"guaranteed": 1.0, "submit": ["role:tenant"], "administer": ["submitter"]}
    many = {f"of-many-{n:02}": {"submit": ["other"]} for n in range(12)}
    queues = POLICY["queues"] | {"prod": {"guaranteed": 0.4, "children": {"etl": etl, "web": web} | many}}
    versions.publish(SYSTEM, POLICY | {"queues": queues}, "names accounts")
    with CaptureQueriesContext(connection) as asked:
        rows = world["viewer"].get("accounts").json()["results"]
    assert len([query for query in asked if "queue" in query["sql"]]) == 2
    listed = {row["username"]: row for row in rows}
    assert [tuple(q.values()) for q in listed["submitter"]["queues"]] == [
        ("root.prod", "submit", "grant"), ("root.prod.etl", "admin", "policy"), ("root.prod.web", "submit", "policy"),
    ]  # fmt: skip
    assert listed["tenant"]["queues"] == [{"path": "root.prod.etl", "level": "submit", "source": "policy"}]
    assert listed["viewer"]["queues"] == [] and listed["tenant"]["queues_left_out"] == 0
    assert len(listed["other"]["queues"]) == 10 and listed["other"]["queues_left_out"] == 3
    one = world["viewer"].get("accounts/other").json()
    assert (len(one["queues"]), one["queues_left_out"]) == (13, 0)
    assert {q["path"] for q in one["queues"]} == {q["path"] for q in world["other"].get("me").json()["queues"]}


def test_names_and_passwords_are_refused_by_field(world: World) -> None:
    refused = world["operator"].post("accounts", {"username": "tenant", "password": "password"})
    assert refused.status_code == 422
    assert {e["field"] for e in refused.json()["errors"]} == {"username", "password"}
    refused = world["operator"].post("accounts", {"username": "tenant", "password": PASSWORD})
    assert [e["field"] for e in refused.json()["errors"]] == ["username"]
    refused = world["operator"].post("accounts/tenant/password", {"password": "short"})
    assert refused.status_code == 422 and refused.json()["errors"][0]["field"] == "password"


def test_closing_ends_sessions_and_tokens_at_once_and_for_good(world: World) -> None:
    tab = browser("tenant")
    assert tab.get("/api/v1/me").status_code == 200
    assert world["operator"].post("accounts/tenant/close").json()["active"] is False
    assert tab.get("/api/v1/me").status_code == 401
    assert world["tenant"].get("me").status_code == 401
    assert world["operator"].post("accounts/tenant/open").json()["active"] is True
    assert tab.get("/api/v1/me").status_code == 401, "an old session came back"
    assert world["tenant"].get("me").status_code == 401, "an old token came back"
    assert browser("tenant").get("/api/v1/me").status_code == 200


@pytest.mark.parametrize("how", ["password", "sign-out"])
def test_a_reset_and_a_sign_out_end_everything(world: World, how: str) -> None:
    tab = browser("tenant")
    answer = world["operator"].post(f"accounts/tenant/{how}", {"password": OTHER_PASSWORD} if how == "password" else {})
    assert answer.status_code == 200 and answer.json()["tokens"] == 0
    assert tab.get("/api/v1/me").status_code == world["tenant"].get("me").status_code == 401
    browser("tenant", OTHER_PASSWORD if how == "password" else PASSWORD)


@pytest.mark.parametrize(
    ("what", "body"), [("role", {"role": "tenant"}), ("close", {}), ("open", {}), ("password", {"password": PASSWORD})]
)
def test_nobody_changes_what_they_may_do_themselves(world: World, what: str, body: dict[str, str]) -> None:
    accounts.create(SYSTEM, "second", PASSWORD, Role.OPERATOR)
    assert world["operator"].post(f"accounts/operator/{what}", body).status_code == 403
    for role in ("tenant", "viewer"):
        assert world[role].post(f"accounts/{role}/role", {"role": "operator"}).status_code == 403
        assert world[role].put("queues/root.prod/rights", json.dumps({"user": role}).encode()).status_code in (403, 415)
    assert User.objects.get(username="operator").role == Role.OPERATOR


def test_the_last_operator_stays(world: World) -> None:
    operator = world.users["operator"]
    for change in (
        lambda: accounts.set_role(SYSTEM, operator, Role.TENANT),
        lambda: accounts.set_active(SYSTEM, operator, False),
    ):
        with pytest.raises(Conflict):
            change()
    second = accounts.create(SYSTEM, "second", PASSWORD, Role.OPERATOR)
    accounts.set_active(Actor(operator.pk), second, False)
    with pytest.raises(Conflict):
        accounts.set_role(Actor(second.pk), operator, Role.VIEWER)


def test_a_token_is_shown_once_works_until_it_is_revoked_and_says_when_it_was_used(world: World) -> None:
    tenant = world["tenant"]
    made = tenant.post("me/tokens", {"name": "ci", "valid_s": 3600})
    assert made.status_code == 201
    NewToken.model_validate(made.json(), extra="forbid")
    program = Api(made.json()["token"])
    assert program.get("me").json()["username"] == "tenant"
    listed = program.get("me/tokens").json()
    TokenList.model_validate(listed, extra="forbid")
    mine = next(t for t in listed["results"] if t["name"] == "ci")
    assert mine["last_used_at"] and mine["current"] and made.json()["token"] not in json.dumps(listed)
    assert tenant.post("me/tokens", {"name": "ci"}).status_code == 409
    assert world["other"]("DELETE", f"me/tokens/{mine['key']}").status_code == 404
    assert tenant("DELETE", f"me/tokens/{mine['key']}").status_code == 204
    assert program.get("me").status_code == 401
    assert tenant.post("me/tokens", {"name": "x", "valid_s": 10**9}).status_code == 422


def test_a_token_of_a_program_makes_none_that_outlives_it(world: World) -> None:
    """Whoever has found it would have it for ever. What a log-in made is as good as its password."""
    login = world["tenant"]
    long = login.post("me/tokens", {"name": "long", "valid_s": 90 * 86400}).json()
    made = login.post("me/tokens", {"name": "ci", "valid_s": 3600}).json()
    assert long["expires_at"] > made["expires_at"]
    program = Api(made["token"])
    for name, valid in (("longer", {"valid_s": 7200}), ("usual", {})):
        assert program.post("me/tokens", {"name": name} | valid).json()["expires_at"] == made["expires_at"]
    shorter = program.post("me/tokens", {"name": "shorter", "valid_s": 600}).json()
    assert shorter["expires_at"] < made["expires_at"]


def test_a_token_that_is_revoked_meanwhile_makes_none(world: World) -> None:
    user = world.users["tenant"]
    using, _ = accounts.new_token(SYSTEM, user, "ci", 3600)
    accounts.revoke_token(SYSTEM, user, using.token_key)
    with pytest.raises(Forbidden):
        accounts.new_token(SYSTEM, user, "more", 600, using)
    assert not AuthToken.objects.filter(user=user, note__name="more").exists()


def test_tokens_that_nobody_has_cost_few_looks_and_keep_nobody_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "token", "5/min")
    caches["throttles"].clear()
    tenant = world["tenant"]
    assert tenant.get("me").status_code == 200
    with CaptureQueriesContext(connection) as ran:
        junk = [Api(secrets.token_hex(32)).get("me") for _ in range(20)]
        shapeless = [Api(text).get("me") for text in ("junk", "x" * 64, secrets.token_hex(31))]
    assert [answer.status_code for answer in junk] == [401] * 5 + [429] * 15 and junk[-1]["Retry-After"]
    assert {answer.status_code for answer in shapeless} == {401}
    assert len([query for query in ran if "knox" in query["sql"]]) == 5
    assert tenant.get("me").status_code == 200, "who is known here is not kept out by a neighbour"
    caches["throttles"].clear()


def test_an_operator_ends_one_token_of_another_account(world: World) -> None:
    operator, made = world["operator"], world["tenant"].post("me/tokens", {"name": "leaked"}).json()
    program = Api(made["token"])
    listed = world["viewer"].get("accounts/tenant/tokens").json()
    TokenList.model_validate(listed, extra="forbid")
    [row] = [t for t in listed["results"] if t["name"] == "leaked"]
    assert row["key"] == made["key"] and not row["current"] and made["token"] not in json.dumps(listed)
    assert operator("DELETE", f"accounts/other/tokens/{row['key']}").status_code == 404, "it is of another account"
    assert operator("DELETE", f"accounts/nobody/tokens/{row['key']}").status_code == 404
    assert operator("DELETE", f"accounts/tenant/tokens/{row['key']}").status_code == 204
    assert program.get("me").status_code == 401
    assert world["tenant"].get("me").status_code == 200, "the others stay"
    entry = AuditEntry.objects.get(action="account.token-revoke")
    assert (entry.actor, entry.target, entry.before) == (
        world.users["operator"], "account/tenant", {"key": row["key"]},
    )  # fmt: skip


def test_log_ins_hide_no_token_that_has_a_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "TOKENS_MAX", 3)
    accounts.new_token(SYSTEM, world.users["tenant"], "old")
    for _ in range(4):
        accounts.new_token(SYSTEM, world.users["tenant"])
    listed = world["tenant"].get("me/tokens").json()["results"]
    assert [t["name"] for t in listed] == ["", "", "old"]


def test_an_account_has_a_bounded_number_of_named_tokens(world: World) -> None:
    for n in range(accounts.NAMED_TOKENS_MAX):
        accounts.new_token(SYSTEM, world.users["tenant"], f"t{n}")
    assert world["tenant"].post("me/tokens", {"name": "more"}).status_code == 409
    assert AuthToken.objects.filter(user=world.users["tenant"]).count() == accounts.NAMED_TOKENS_MAX + 1


def test_a_password_of_ones_own_needs_the_present_one_and_keeps_this_session(world: World) -> None:
    tab, elsewhere = browser("tenant"), browser("tenant")
    body = {"current": "guessed", "password": "short"}
    both = tab.post("/api/v1/me/password", body, "application/json")
    assert both.status_code == 422 and {e["field"] for e in both.json()["errors"]} == {"current", "password"}
    body["password"] = OTHER_PASSWORD
    assert tab.post("/api/v1/me/password", body, "application/json").status_code == 422
    body["current"] = PASSWORD
    assert tab.post("/api/v1/me/password", body, "application/json").status_code == 204
    assert tab.get("/api/v1/me").status_code == 200
    assert elsewhere.get("/api/v1/me").status_code == world["tenant"].get("me").status_code == 401


def test_join_tokens_are_listed_and_revoked(world: World) -> None:
    operator = world["operator"]
    _, secret = nodes.new_join_token(SYSTEM, world.west, "rack 3")
    joining.new_token(SYSTEM, "north", "", 60)
    listed = operator.get("join-tokens").json()
    JoinTokenList.model_validate(listed, extra="forbid")
    assert [(t["kind"], t["sub_cluster"]) for t in listed["results"]] == [("node", "west"), ("sub_cluster", "north")]
    assert secret not in json.dumps(listed)
    for kind, token in zip(("nodes", "sub-clusters"), listed["results"], strict=True):
        address = f"join-tokens/{kind}/{token['id']}"
        assert operator("DELETE", address).status_code == 204
    assert operator.get("join-tokens").json()["results"] == []


def test_a_disk_without_room_for_artifacts_is_told(world: World, settings: Any) -> None:
    settings.HYDRA = settings.HYDRA | {"artifacts_free_mib": 1 << 40}
    found = {(c["kind"], c["name"]): c for c in world["viewer"].get("components").json()["results"]}
    assert found["store", "artifacts"]["verdict"] == "bad" and "are refused" in found["store", "artifacts"]["text"]
    assert "HYDRA_ARTIFACT_DAYS" in found["store", "artifacts"]["remedy"]


def test_components_say_what_is_wrong_and_what_helps(world: World) -> None:
    answer = world["viewer"].get("components")
    ComponentList.model_validate(answer.json(), extra="forbid")
    found = {(c["kind"], c["name"]): c for c in answer.json()["results"]}
    assert found["store", "postgres"]["verdict"] in ("good", "warn"), "it answers, if slowly on a busy host"
    assert (
        found["rm", "west"]["verdict"] == found["nodes", "west"]["verdict"] == found["gpg", "gpg"]["verdict"] == "bad"
    )
    assert all(c["remedy"] for c in found.values() if c["verdict"] != "good")
    assert found["store", "artifacts"]["verdict"] in ("good", "warn")
    SubCluster.objects.filter(name="east").update(state="decommissioned")
    assert ("rm", "east") not in {(c["kind"], c["name"]) for c in world["viewer"].get("components").json()["results"]}
