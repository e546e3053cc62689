"""What a viewer finds: all of the policy, and nothing that changes it."""

import datetime as dt
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from client import Client
from tests.browser.barriers import barriers
from tests.browser.chromium import sign_in
from tests.browser.conftest import WAIT_MS
from tests.stack import Stack

PASSWORD = "a-long-enough-password"
CHANGES = re.compile("Plan and push|Add|Roll back|Cancel it|Approve|Reject|Pause|Abort|Rename|Remove|Simulate")
PARTS = (
    "edit",
    "edit?view=text",
    "edit?at=/components",
    "rollouts",
    "proposals",
    "simulations",
    "history",
    "overrides",
)


@pytest.fixture(scope="module")
def operator(site: Stack) -> Iterator[Client]:
    client = site.client("operator")
    client.create_account("auditor", PASSWORD, "viewer")
    begins = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    ends = begins + dt.timedelta(days=1)
    override = client.add_override("root.default", "weight", {"to": 2}, ends, "for a time", starts_at=begins)
    yield client
    client.cancel_override(override.id)
    client.close_account("auditor")


@pytest.fixture(scope="module")
def viewer(browser: Browser, site: Stack, operator: Client) -> Iterator[Page]:
    context = browser.new_context(base_url=site.url, viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    tab.set_default_timeout(WAIT_MS)
    sign_in(tab, "auditor", PASSWORD)
    yield tab
    context.close()


def test_the_policy_is_there_to_be_read(viewer: Page, operator: Client) -> None:
    viewer.get_by_role("navigation").get_by_role("link", name="Policy").first.click()
    expect(viewer.get_by_text("Only operators change it")).to_be_visible()
    expect(viewer.get_by_role("link", name=re.compile("^Version \\d+"))).to_be_visible()
    expect(viewer.get_by_role("textbox", name="Guaranteed").first).to_be_disabled()
    expect(viewer.get_by_role("button", name="Components", exact=True)).to_be_enabled()
    viewer.goto("/policy/edit?view=text")
    text = viewer.get_by_role("textbox", name="Policy document")
    expect(text).to_contain_text("queues")
    before = text.inner_text()
    text.click()
    viewer.keyboard.type("x: 1")
    assert text.inner_text() == before
    version = operator.policy().version
    viewer.goto(f"/policy/history?version={version}")
    expect(viewer.get_by_role("table", name="Versions").get_by_role("row").nth(1)).to_contain_text(str(version))
    viewer.goto("/policy/audit")
    expect(viewer.get_by_role("list", name="Entries").get_by_role("listitem").first).to_be_visible()


@pytest.mark.parametrize("part", PARTS)
def test_no_part_of_it_has_an_action(viewer: Page, part: str) -> None:
    viewer.goto(f"/policy/{part}")
    expect(viewer.get_by_text("Only operators change it")).to_be_visible()
    expect(viewer.get_by_role("status", name=re.compile("^Loading"))).to_have_count(0)
    offered = viewer.locator("#main").get_by_role("button", name=CHANGES, disabled=False)
    assert [button.inner_text() for button in offered.all() if button.is_enabled()] == []
    assert barriers(viewer) == []
