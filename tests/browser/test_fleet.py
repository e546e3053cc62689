"""The fleet in a browser: a node that dies, filters in the address, the keyboard, who sees what, accessibility."""

import os
import re
import signal
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.barriers import barriers
from tests.browser.chromium import sign_in
from tests.browser.conftest import WAIT_MS
from tests.limits import limit
from tests.patience import wait_until
from tests.stack import Stack

VIEWS = ("/fleet", "/fleet?view=map&fill=reserved&of=cores", "/fleet?view=table&sort=-memory")


@pytest.fixture
def operator(page: Page, site: Stack) -> Page:
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    return page


def test_a_node_that_dies_is_shown_and_so_is_its_return(operator: Page, site: Stack) -> None:
    operator.goto("/fleet")
    expect(operator.get_by_role("link", name=re.compile("^east-2, Up, rack"))).to_be_visible()
    dies = site.pid("east-2")
    try:
        (site.home.held / "east-2").touch()
        wait_until(lambda: site.pid("east-2") != dies, 20, "its process is gone")
        gone = operator.get_by_role("link", name=re.compile("^east-2, (Up|Lost), stale, silent for"))
        expect(gone).to_be_visible()
        expect(operator.get_by_test_id("fleet-east")).to_contain_text(re.compile(r"1 stale for up to \d+ s"))
        operator.goto("/fleet?state=stale")
        expect(operator.get_by_text(re.compile(r"^1 of \d+ nodes$"))).to_be_visible()
        lost = operator.get_by_role("link", name=re.compile("^east-2, Lost"))
        expect(lost).to_be_visible(timeout=2 * WAIT_MS)  # nodes of this stack may be silent for long
    finally:
        site.release("east-2")
    expect(operator.get_by_text("No node matches these filters")).to_be_visible()
    operator.get_by_role("button", name="Clear").click()
    expect(operator.get_by_role("link", name=re.compile("^east-2, Up, rack"))).to_be_visible()


@pytest.mark.faults
def test_the_screen_shows_in_time_that_a_node_has_died(operator: Page, site: Stack) -> None:
    operator.goto("/fleet")
    expect(operator.get_by_role("link", name=re.compile("^east-2, Up, rack"))).to_be_visible()
    dies = site.pid("east-2")
    try:
        with limit("node killed: the screen shows it", 10):
            (site.home.held / "east-2").touch()
            os.kill(dies, signal.SIGKILL)
            expect(operator.get_by_role("link", name=re.compile("^east-2, (Up|Lost), stale"))).to_be_visible()
    finally:
        site.release("east-2")
    expect(operator.get_by_role("link", name=re.compile("^east-2, Up, rack"))).to_be_visible()


def test_filters_are_in_the_address_and_a_link_shows_the_same(operator: Page, browser: Browser, site: Stack) -> None:
    operator.goto("/fleet")
    operator.get_by_label("Sub-cluster").select_option("west")
    operator.get_by_label("Name").fill("-2")
    operator.wait_for_url("**/fleet?q=-2&sub=west")
    operator.get_by_text("Table", exact=True).click()
    operator.wait_for_url("**/fleet?q=-2&sub=west&view=table")
    expect(operator.get_by_role("table").get_by_role("link")).to_have_text(["west-2"])
    operator.get_by_role("button", name="Sort by containers").click()
    operator.wait_for_url("**sort=-containers")
    address = operator.url
    operator.goto("/")
    operator.goto(address)
    expect(operator.get_by_role("table").get_by_role("link")).to_have_text(["west-2"])
    expect(operator.get_by_label("Name")).to_have_value("-2")
    expect(operator.get_by_role("columnheader", name="containers")).to_have_attribute("aria-sort", "descending")


def test_the_map_is_walked_with_the_keyboard(operator: Page) -> None:
    operator.goto("/fleet?view=map&sub=west")
    canvas = operator.get_by_role("application", name=re.compile("^Nodes of west"))
    canvas.focus()
    spoken = operator.get_by_test_id("fleet-west").get_by_role("status")
    operator.keyboard.press("ArrowDown")
    expect(spoken).to_contain_text("west-1, Up")
    operator.keyboard.press("End")
    expect(spoken).to_contain_text("west-2, Up")
    operator.keyboard.press("Enter")
    operator.wait_for_url("**/fleet/nodes/*")
    expect(operator.get_by_role("heading", level=1)).to_have_text("west-2")
    operator.go_back()
    operator.get_by_role("application").click(position={"x": 5, "y": 20})
    expect(operator.get_by_role("heading", level=1)).to_have_text("west-1")


def test_of_others_jobs_a_tenant_sees_only_that_they_are_there(page: Page, site: Stack) -> None:
    group = {"name": "g", "count": 2, "command": ["sleep", "600"], "resources": {"memory_mib": 64, "vcores_milli": 100}}
    other = site.client("operator").submit({"name": "not-yours", "queue": "root.prod", "groups": [group]})
    held = wait_until(
        lambda: [c for c in site.client("operator").containers(other.id) if c.state == "RUNNING"], 30, "it runs"
    )
    (node,) = [n for n in site.client("operator").nodes() if n.name == held[0].node]
    sign_in(page, "tenant", site.home.secrets()["tenant_password"])
    page.goto(f"/fleet/nodes/{node.id}")
    expect(page.get_by_text("None of yours runs here")).to_be_visible()
    assert "not-yours" not in page.content()
    site.client("operator").kill(other.id)


def test_a_node_shows_its_history(operator: Page, site: Stack) -> None:
    (node,) = site.client("operator").nodes(name="east-1")
    query: dict[str, Any] = {"metrics": ["allocated_memory_mib"], "scopes": [f"node:{node.id}"]}
    client = site.client("operator")
    wait_until(lambda: any(v is not None for v in client.series(**query).series[0].values), 90, "a sample", 1.0)
    operator.goto(f"/fleet/nodes/{node.id}")
    history = operator.get_by_role("region", name="Usage history")
    expect(history.get_by_role("img", name=re.compile("^Memory, GiB"))).to_be_visible()
    history.get_by_role("button", name="24 h").click()
    expect(operator).to_have_url(re.compile("last=24h"))
    history.get_by_role("button", name="As a table: Cores").click()
    expect(
        history.get_by_role("region", name="Cores as a table").get_by_role("columnheader", name="Used")
    ).to_be_visible()
    history.get_by_role("link", name="Look closer").click()
    expect(operator).to_have_url(re.compile(f"/usage\\?scope=node%3A{node.id}"))
    expect(operator.get_by_role("region", name="Memory", exact=True)).to_be_visible()
    expect(operator.get_by_role("region", name="Decisions", exact=True)).to_have_count(0)


def test_the_pages_are_accessible(browser: Browser, site: Stack) -> None:
    context = browser.new_context(base_url=site.url, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    node = site.client("operator").nodes(name="east-1")
    for path in (*VIEWS, f"/fleet/nodes/{next(iter(node)).id}", "/"):
        page.goto(path)
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_load_state("networkidle")
        assert barriers(page) == [], path
        page.set_viewport_size({"width": 390, "height": 844})
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{path} is {wide} px too wide for a phone"
        page.set_viewport_size({"width": 1280, "height": 900})
    context.close()
