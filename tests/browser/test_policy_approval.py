"""Four-eyes in the browser: what one operator pushes waits until another has looked at it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from client import Client
from tests.browser.chromium import sign_in
from tests.browser.conftest import WAIT_MS
from tests.browser.test_policy import DOCUMENT, edit, guaranteed, to_plan
from tests.patience import wait_until
from tests.stack import Stack

PASSWORD = "four eyes see more than two"
ONE = re.compile(r"^Proposal \d+$")


@pytest.fixture(scope="module")
def grace(site: Stack) -> Iterator[str]:
    """A second operator."""
    operator = site.client("operator")
    operator.create_account("grace", PASSWORD, "operator")
    yield "grace"
    operator.close_account("grace")


@pytest.fixture
def operator(site: Stack, grace: str, tmp_path: Path) -> Iterator[Client]:
    """The SDK as the first operator; approval is required during the test."""
    client = site.client("operator")
    before = client.policy().document or {}
    client.push_policy(DOCUMENT | {"approval": {"required": True}}, "four eyes", force=True)
    yield client
    (tmp_path / "before.json").write_text(json.dumps(before))
    site.manage("policy", "-f", str(tmp_path / "before.json"), "-m", "as before the test", "--force")


@pytest.fixture
def graces(browser: Browser, site: Stack, grace: str) -> Iterator[Page]:
    context = browser.new_context(base_url=site.url, viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    tab.set_default_timeout(WAIT_MS)
    sign_in(tab, grace, PASSWORD)
    yield tab
    context.close()


def proposed(page: Page, site: Stack, share: str) -> Locator:
    """What the first operator sees of its push."""
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    edit(page, "ads", share)
    to_plan(page)
    page.get_by_label("What changes, and why").fill("less for ads")
    page.get_by_role("button", name="Push to all").click()
    return page.get_by_role("region", name=ONE)


def test_a_change_waits_for_a_second_operator_and_bears_both_names(
    page: Page, graces: Page, site: Stack, operator: Client
) -> None:
    graces.goto("/policy/proposals")
    waiting = graces.get_by_role("table", name="Proposals")
    expect(graces.get_by_text("No change waits")).to_be_visible()
    mine = proposed(page, site, "15%")
    expect(mine).to_contain_text("Another operator must approve it.")
    expect(mine.get_by_role("button", name="Approve…")).to_have_count(0)
    assert guaranteed(operator, "ads") == 0.2, "nothing is in force yet"

    waiting.get_by_role("link", name="Proposal").first.click()  # which has come by itself
    theirs = graces.get_by_role("region", name=ONE)
    expect(theirs).to_contain_text("root.ads guaranteed 20 % -> 15 %")
    theirs.get_by_role("button", name="Approve…").click()
    dialog = graces.get_by_role("dialog")
    dialog.get_by_role("button", name="Approve", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Say why")
    dialog.get_by_label("Why").fill("agreed")
    expect(dialog).to_contain_text("-m agreed")
    dialog.get_by_role("button", name="Approve", exact=True).click()
    expect(theirs).to_contain_text("Decided by")
    wait_until(lambda: guaranteed(operator, "ads") == "15%", 20, "it is in force")
    expect(mine).to_contain_text("grace: agreed")
    graces.goto("/policy/history")
    expect(graces.get_by_text("approved by grace").first).to_be_visible()


def test_an_author_takes_a_change_back(page: Page, site: Stack, operator: Client) -> None:
    mine = proposed(page, site, "10%")
    mine.get_by_role("button", name="Take it back…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Why").fill("too little")
    dialog.get_by_role("button", name="Take back", exact=True).click()
    expect(mine).to_contain_text("withdrawn")
    assert guaranteed(operator, "ads") == 0.2
