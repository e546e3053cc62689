"""What an account keeps, in the browser: who is told of its jobs, and secrets that its jobs name."""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from client import Client
from tests.browser.barriers import barriers, barriers_on_a_phone
from tests.browser.chromium import sign_in
from tests.patience import stretched, wait_until
from tests.receiving import Hooks, hooks
from tests.stack import Stack


@pytest.fixture
def tenant(site: Stack) -> Iterator[Client]:
    """Keeps nothing afterwards."""
    client = site.client("tenant")
    yield client
    for receiver in client.receivers():
        client.delete_receiver(receiver.name)
    for secret in client.secrets():
        client.delete_secret(secret.name)


@pytest.fixture
def told() -> Iterator[Hooks]:
    with hooks() as listening:
        yield listening


def signature(key: str, head: dict[str, str], body: bytes) -> str:
    """As Standard Webhooks has it."""
    said = f"{head['webhook-id']}.{head['webhook-timestamp']}.".encode() + body
    made = hmac.new(base64.b64decode(key.removeprefix("whsec_")), said, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(made).decode()}"


def test_a_receiver_is_made_tried_looked_at_and_deleted(signed_in: Page, tenant: Client, told: Hooks) -> None:
    page = signed_in
    page.goto("/account")
    card = page.get_by_role("region", name="Hear of your jobs")
    expect(card).to_contain_text("Nobody is told of your jobs")
    card.get_by_role("button", name="New receiver…").click()
    asked = page.get_by_role("dialog", name="New receiver")
    asked.get_by_role("textbox", name="Name").fill("ci")
    asked.get_by_role("textbox", name="Address").fill("http://192.168.7.7/hook")
    asked.get_by_role("button", name="Keep it").click()
    expect(asked).to_contain_text("which is not a public address of another machine; give a public address")
    asked.get_by_role("textbox", name="Address").fill(told.url())
    asked.get_by_role("checkbox", name="failed").check()
    expect(asked).to_contain_text(f"hydractl receiver put ci --webhook {told.url()} --every-job failed")
    assert barriers(page) == []
    asked.get_by_role("button", name="Keep it").click()
    once = page.get_by_role("dialog", name="The key of ci")
    key = once.locator("code").inner_text()
    assert key.startswith("whsec_")
    once.get_by_role("button", name="Done").click()
    row = card.get_by_role("row").filter(has_text="ci")
    expect(row).to_contain_text(re.compile(r"127\.0\.0\.1.*failed.*well", re.S))
    expect(row).not_to_contain_text("/hook")
    row.get_by_role("button", name="Test ci").click()
    wait_until(lambda: told.told, 30, "the trial has come")
    _, head, body = told.told[0]
    assert json.loads(body)["type"] == "test" and head["webhook-signature"] == signature(key, head, body)
    row.get_by_role("button", name="What ci was told").click()
    log = card.get_by_role("region", name="What ci was told")
    expect(log.get_by_role("row").filter(has_text="test")).to_contain_text("sent")
    told.answer["/hook"] = 500
    row.get_by_role("button", name="Test ci").click()
    expect(log.get_by_role("row").filter(has_text="500")).to_contain_text("waiting")
    expect(row).to_contain_text(
        re.compile(r"answered 500, (once|\d+ times in a row)(; tried again in \d+ s)?; 1 to be told")
    )
    assert barriers_on_a_phone(page) == []
    row.get_by_role("button", name="Delete ci").click()
    page.get_by_role("dialog", name="Delete the receiver").get_by_role("button", name="Delete", exact=True).click()
    expect(card).to_contain_text("Nobody is told of your jobs")
    assert tenant.receivers() == []


def test_a_secret_is_kept_named_in_the_form_and_reaches_the_task(signed_in: Page, tenant: Client) -> None:
    page = signed_in
    page.goto("/submit")
    field = page.get_by_role("group", name="Secrets")
    expect(field.get_by_role("button", name="Use a secret")).to_be_disabled()
    with page.context.expect_page() as opened:  # what is written here stays
        field.get_by_role("link", name="your account").click()
    card = opened.value.get_by_role("region", name="Secrets")
    card.get_by_role("button", name="New secret…").click()
    asked = opened.value.get_by_role("dialog", name="New secret")
    asked.get_by_role("textbox", name="Name").fill("db-password")
    asked.get_by_role("textbox", name="Value").fill("swordfish-and-chips")
    asked.get_by_role("button", name="Keep it").click()
    expect(card.get_by_role("row").filter(has_text="db-password")).to_be_visible()
    expect(card).not_to_contain_text("swordfish")
    page.goto("/submit")
    field.get_by_role("button", name="Use a secret").click()
    expect(field.get_by_label("Secret", exact=True)).to_have_value("db-password")
    expect(page.get_by_role("alert", name="Problems")).to_contain_text("groups.0.secrets.0.env")
    field.get_by_label("The variable of db-password").fill("PGPASSWORD")
    page.get_by_label("Command", exact=True).fill('echo "${#PGPASSWORD} letters of $PGPASSWORD"')
    page.get_by_label("Files it leaves behind").fill("")
    expect(page.get_by_test_id("checked")).to_contain_text("The server would take it")
    assert barriers_on_a_phone(page) == []
    page.get_by_text("Text", exact=True).click()
    text = page.get_by_role("textbox", name="Job file")
    expect(text).to_have_value(re.compile(r"secrets:\s+- \{? ?name: db-password,?\s+env: PGPASSWORD"))
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(r"/jobs/\d+$"))
    expect(page.locator("h1 + [data-state]")).to_have_attribute("data-state", "SUCCEEDED")
    expect(page.get_by_test_id("log")).to_contain_text("19 letters of ***")


def test_pages_stay_live_with_a_new_password(page: Page, site: Stack) -> None:
    """The session that the socket knew ends with the old one."""
    site.client("operator").create_account("changes-it", "a-first-password", "tenant")
    sign_in(page, "changes-it", "a-first-password")
    page.goto("/account")
    card = page.get_by_role("region", name="Password")
    card.get_by_label("Present password").fill("guessed")
    card.get_by_label("New password").fill("qwerty")
    card.get_by_role("button", name="Change").click()
    for wrong in ("is not the present password", "too short", "too common"):
        expect(card).to_contain_text(wrong)
    card.get_by_label("Present password").fill("a-first-password")
    card.get_by_label("New password").fill("a-second-password")
    with page.expect_websocket(timeout=1000 * stretched(30)):
        card.get_by_role("button", name="Change").click()
    page.get_by_role("link", name="Jobs", exact=True).first.click()
    with Client(site.url) as mine:
        mine.login("changes-it", "a-second-password")
        job = mine.submit({"name": "after", "groups": [{"name": "g", "command": ["true"]}]}).id
        row = page.get_by_role("row").filter(has_text="after")
        expect(row).to_be_visible()
        mine.wait(job)
        expect(row).to_contain_text("Succeeded")


def test_who_has_been_signed_out_is_told_so(page: Page, site: Stack) -> None:
    operator = site.client("operator")
    operator.create_account("is-closed", "a-first-password", "tenant")
    sign_in(page, "is-closed", "a-first-password")
    page.goto("/jobs?state=ended")
    page.get_by_role("heading", name="Jobs", level=1).wait_for()
    operator.close_account("is-closed")
    told = page.get_by_role("status").filter(has_text="You have been signed out")
    expect(told).to_contain_text("closed the account")
    expect(page).to_have_url(re.compile(r"/login\?next=%2Fjobs%3Fstate%3Dended$"))
    assert barriers(page) == []
    page.reload()
    expect(told).to_be_visible()
    page.get_by_label("User name").fill("is-closed")
    page.get_by_label("Password", exact=True).fill("a-first-password")
    page.get_by_role("button", name="Sign in").click()
    refused = page.get_by_role("alert")
    expect(refused).to_contain_text("the account is closed")
    expect(refused.get_by_text("the name or the password is wrong")).to_have_count(1)
    expect(told).to_have_count(0)
    page.goto("/login")
    expect(page.get_by_label("User name")).to_be_focused()
    expect(told).to_have_count(0)
