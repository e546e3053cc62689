"""Lists that others change show it by themselves: nobody reloads, goes elsewhere or comes back."""

import datetime as dt

from playwright.sync_api import Locator, Page, expect

from client import Client
from tests.browser.chromium import sign_in
from tests.stack import Stack

MARK = "window.marked = true"
STILL = "window.marked === true"


def opened(page: Page, site: Stack, address: str, what: str) -> tuple[Client, Locator]:
    """Another operator's hands, and the part of the page that is to follow them."""
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    page.goto(address)
    part = page.get_by_role("region", name=what)
    part.wait_for()
    page.evaluate(MARK)
    return site.client("operator"), part


def test_overrides_are_followed(page: Page, site: Stack) -> None:
    operator, listed = opened(page, site, "/policy/overrides", "In force and to come")
    start = dt.datetime.now(dt.UTC) + dt.timedelta(days=2)
    planned = operator.add_override(
        "root.default", "maximum", {"percent": -10}, start + dt.timedelta(hours=1), "a quiet night", starts_at=start
    )
    expect(listed).to_contain_text("a quiet night")
    operator.cancel_override(planned.id)
    expect(listed).not_to_contain_text("a quiet night")
    assert page.evaluate(STILL)


def test_the_audit_log_is_followed(page: Page, site: Stack) -> None:
    operator, listed = opened(page, site, "/policy/audit?action=node", "Audit log")
    (node,) = operator.nodes(name="east-2")
    operator.cordon(node.id, "written down")
    expect(listed.get_by_role("listitem").filter(has_text=f"node/{node.id}").first).to_contain_text("node.cordon")
    operator.uncordon(node.id)
    assert page.evaluate(STILL)


def test_maintenance_is_followed(page: Page, site: Stack) -> None:
    operator, listed = opened(page, site, "/fleet", "Maintenance")
    start = dt.datetime.now(dt.UTC) + dt.timedelta(days=3)
    window = operator.add_maintenance("west", start, start + dt.timedelta(hours=1), node="west-2", message="new cables")
    expect(listed).to_contain_text("new cables")
    operator.cancel_maintenance(window.id)
    expect(listed).not_to_contain_text("new cables")
    assert page.evaluate(STILL)
