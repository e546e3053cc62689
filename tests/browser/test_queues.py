"""Queues on the screen: the tree, the matrix, who starves, and what a tenant sees of it."""

import datetime as dt
import re
import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.barriers import barriers
from tests.browser.chromium import sign_in
from tests.stack import Stack

NEEDS = {"memory_mib": 64, "vcores_milli": 100}


@pytest.fixture
def operator(page: Page, site: Stack) -> Page:
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    return page


@pytest.fixture
def running(site: Stack) -> Iterator[str]:
    """A job of the tenant's that holds something while the page is looked at; its name."""
    group = {"name": "hold", "count": 2, "command": ["sleep", "120"], "resources": NEEDS}
    client = site.client()
    made = client.submit({"name": f"hold-{uuid.uuid4().hex[:8]}", "queue": "root.default", "groups": [group]})
    yield made.name
    client.kill(made.id)


def row(page: Page, path: str):  # type: ignore[no-untyped-def] - a locator
    return page.locator(f'[role="row"][data-path="{path}"]')


def test_the_tree_shows_what_each_queue_holds_and_opens_its_details(operator: Page, running: str) -> None:
    operator.goto("/queues")
    expect(operator.get_by_role("treegrid", name="Queues")).to_be_visible()
    default = row(operator, "root.default")
    expect(default.get_by_role("img")).to_have_attribute(
        "aria-label", re.compile(r"root\.default, .*: uses .*guaranteed")
    )
    expect(default).to_contain_text("128 MiB" if operator.url.endswith("memory") else "cores")
    default.click()
    drawer = operator.get_by_role("complementary", name="Queue root.default")
    expect(drawer).to_contain_text("Where its share is, and why")
    expect(drawer).to_contain_text("west")
    expect(drawer.get_by_role("link", name="Its line in the policy")).to_have_attribute(
        "href", "/policy/edit?at=%2Fqueues%2Fdefault"
    )
    assert "queue=root.default" in operator.url, "a link shows the same"
    operator.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


def test_the_tree_is_searched_closed_and_walked_by_keys(operator: Page) -> None:
    operator.goto("/queues")
    root = row(operator, "root")
    root.focus()
    operator.keyboard.press("ArrowLeft")
    expect(root).to_have_attribute("aria-expanded", "false")
    expect(row(operator, "root.default")).to_have_count(0)
    operator.keyboard.press("ArrowRight")
    expect(row(operator, "root.default")).to_be_visible()
    operator.get_by_label("Find a queue").fill("no such queue")
    expect(operator.get_by_text("No queue matches")).to_be_visible()
    operator.get_by_label("Find a queue").fill("defau")
    expect(row(operator, "root.default")).to_be_visible()


def test_bars_show_a_small_queue_against_its_own_guarantee(operator: Page, running: str) -> None:
    operator.goto("/queues?resource=memory")
    used = row(operator, "root.default").locator(".qbar-used")
    expect(used).to_have_attribute("width", re.compile(r"[1-9]"))
    of_all = float((used.get_attribute("width") or "").rstrip("%"))
    operator.get_by_role("combobox", name="Bars").select_option("own")
    expect(operator).to_have_url(re.compile("bars=own"))
    expect(operator.get_by_text("Held of its guarantee")).to_be_visible()
    assert float((used.get_attribute("width") or "").rstrip("%")) >= of_all


def test_the_matrix_says_which_rule_binds(operator: Page, running: str) -> None:
    operator.goto("/queues?tab=matrix")
    table = operator.get_by_role("region", name="Queues and sub-clusters")
    expect(table.get_by_role("columnheader", name="west")).to_be_visible()
    cell = table.get_by_role("button", name=re.compile(r"root\.default in (west|east): share .*uses"))
    expect(cell.first).to_be_visible()
    cell.first.click()
    expect(operator.get_by_role("complementary", name="Queue root.default")).to_contain_text("wants")


def test_a_starved_queue_is_flagged_with_since_when(operator: Page, site: Stack) -> None:
    """The answer is changed on its way, as it would be on a full cluster."""
    operator.goto("/queues")
    expect(row(operator, "root.default")).to_be_visible()
    operator.route("**/ws/v1", lambda route: route.abort())
    since = (dt.datetime.now(dt.UTC) - dt.timedelta(minutes=4)).timestamp()

    def starved(route) -> None:  # type: ignore[no-untyped-def]
        answer = route.fetch()
        use = answer.json()
        use["starving"] = [{"at": 1, "partition": "", "since": since, "lacking": [2048, 0, 0]}]
        route.fulfill(response=answer, json=use)

    operator.route("**/api/v1/queues/use*", starved)
    operator.route_web_socket("**/ws/v1", lambda socket: socket.close())
    operator.goto("/queues?resource=memory")
    flag = operator.get_by_title(re.compile("Below its guarantee for 4 min: 2 GiB that it wants are missing"))
    expect(flag.first).to_be_visible()
    expect(operator.get_by_text(re.compile("1 starved"))).to_be_visible()


def test_the_overview_says_how_many_queues_it_leaves_out(operator: Page) -> None:
    def many(route) -> None:  # type: ignore[no-untyped-def]
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"queues_left_out": 4900})

    operator.route_web_socket("**/ws/v1", lambda socket: socket.close())
    operator.route("**/api/v1/overview", many)
    operator.goto("/")
    queues = operator.get_by_role("region", name="Queues")
    expect(queues).to_contain_text(re.compile(r"\d of 4,9\d\d queues, the highest in the tree"))
    queues.get_by_role("link", name="All of them").click()
    expect(operator.get_by_role("heading", name="Queues", level=1)).to_be_visible()


def test_a_tenant_sees_its_own_part_and_saves_what_it_used(signed_in: Page, running: str) -> None:
    signed_in.goto("/queues")
    expect(row(signed_in, "root.default")).to_be_visible()
    expect(signed_in.get_by_role("button", name="My queues")).to_have_attribute("aria-pressed", "true")
    signed_in.get_by_role("button", name="My use").click()
    with signed_in.expect_download() as saved:
        signed_in.get_by_role("link", name="Save as CSV").click()
    text = saved.value.path().read_text()
    assert text.startswith("hour,sub_cluster,queue,containers,memory_mib_s,vcores_milli_s,gpu_s")


@pytest.mark.parametrize("view", ["", "?tab=matrix", "?tab=use", "?queue=root.default"])
def test_nothing_keeps_anybody_from_using_it(operator: Page, running: str, view: str) -> None:
    operator.goto(f"/queues{view}")
    operator.get_by_role("heading", name="Queues", level=1).wait_for()
    expect(operator.get_by_role("status", name="Loading")).to_have_count(0)
    assert barriers(operator) == []
