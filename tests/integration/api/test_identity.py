"""Who somebody is comes from a token or a session, and from nothing that a request says beside it."""

import json

from django.test import Client

from tests.integration.api.world import PASSWORD, Api, World, job

LOGIN = {"username": "tenant", "password": PASSWORD}


def test_what_only_the_system_writes_is_not_taken_from_a_body(world: World) -> None:
    for name, value in {
        "id": 7, "owner": "other", "owner_id": 1, "state": "SUCCEEDED", "home": "east", "message": "x",
        "submitted_at": "2020-01-01T00:00:00Z", "epoch": 9, "spec": {}, "retry_of": 1,
    }.items():  # fmt: skip
        answer = world["tenant"].post("jobs", job(**{name: value}))
        assert answer.status_code == 422 and answer.json()["errors"][0]["field"] == name


def test_a_closed_account_and_a_forged_token_get_nothing(world: World) -> None:
    for token in ("0" * 64, world["tenant"].token[:-1] + "x", "\xff", "a" * 5000, ""):
        answer = Api()("GET", "me", authorization=f"Token {token}")
        assert answer.status_code == 401, token[:10]
        assert answer["WWW-Authenticate"] == "Token"
    world.users["tenant"].is_active = False
    world.users["tenant"].save()
    assert world["tenant"].get("me").status_code == 401
    assert Api().post("auth/login", LOGIN).status_code == 401


def test_who_is_not_known_is_told_how_to_say_it(world: World) -> None:
    told = "send Authorization: Token TOKEN, which hydractl token create NAME makes, or sign in"
    assert Api().get("me").json()["detail"] == f"the request names nobody; {told}"
    other = Api()("GET", "me", authorization=f"Bearer {world['tenant'].token}")
    assert (other.status_code, other["WWW-Authenticate"]) == (401, "Token")
    assert other.json()["detail"] == f"credentials of the kind 'Bearer' are not read here; {told}"
    bare = Api()("GET", "me", authorization=world["tenant"].token).json()["detail"]
    assert bare == f"the Authorization header has one word; {told}", "which may be the secret itself"
    node = Api()("POST", "/node/v1/logs", {"chunks": []}, authorization="Basic x")
    assert node.json()["detail"].endswith("'Basic' are not read here; send Authorization: Node and the credential")


def test_a_login_for_a_program_is_one(world: World) -> None:
    at = f"accounts/{LOGIN['username']}"
    assert world["operator"].get(at).json()["last_login_at"] is None
    assert Api().post("auth/login", LOGIN).status_code == 200
    assert world["operator"].get(at).json()["last_login_at"] is not None


def test_a_browser_needs_the_csrf_token_for_every_change(world: World) -> None:
    browser = Client(enforce_csrf_checks=True)
    body = json.dumps(LOGIN)
    assert browser.post("/api/v1/auth/session", body, "application/json").status_code == 403
    token = browser.get("/api/v1/auth/csrf").json()["csrf_token"]
    logged_in = browser.post("/api/v1/auth/session", body, "application/json", headers={"X-CSRFToken": token})
    assert logged_in.status_code == 200 and logged_in.json()["username"] == "tenant"
    refused = browser.post("/api/v1/jobs", json.dumps(job()), "application/json")
    assert refused.status_code == 403 and refused["Content-Type"] == "application/problem+json"
    token = browser.cookies["csrftoken"].value
    taken = browser.post("/api/v1/jobs", json.dumps(job()), "application/json", headers={"X-CSRFToken": token})
    assert taken.status_code == 201
    assert browser.delete("/api/v1/auth/session", headers={"X-CSRFToken": token}).status_code == 204
    assert browser.get("/api/v1/me").status_code == 401
