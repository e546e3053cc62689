"""Charts over time in the browser: zoom, a moment, a link that shows the same, what was changed, no barriers."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.barriers import barriers
from tests.browser.chromium import sign_in
from tests.patience import wait_until
from tests.stack import Stack

RESOURCES = {"memory_mib": 64, "vcores_milli": 100}
METRICS = "allocated_memory_mib,decisions_per_s"


@pytest.fixture(scope="module")
def since() -> datetime:
    """What ran before is other tests' past."""
    return datetime.now(UTC)


@pytest.fixture(scope="module")
def lived(site: Stack, since: datetime) -> Stack:
    """The stack has a past: containers ran, and a policy was pushed meanwhile."""
    tenant = site.client("tenant")
    group = {"name": "g", "count": 6, "command": ["sleep", "40"], "resources": RESOURCES, "estimated_duration_s": 40}
    job = tenant.submit({"name": "past", "tags": ["once"], "groups": [group]})
    operator = site.client("operator")
    document = dict(operator.policy().document)
    operator.push_policy(document | {"queues": document["queues"] | {"charted": {}}}, "Charts mark this")
    wait_until(lambda: _sampled(operator, since), 60, "history has the containers")
    tenant.kill(job.id)
    return site


@pytest.fixture(scope="module")
def busy_at(lived: Stack, since: datetime) -> int:
    """The middle of the first of the finest windows in which containers ran: a click may miss by a second."""
    found = lived.client("operator").series(["allocated_memory_mib"], ["queue:root.default"], start=since)
    assert found.step_s == 10
    return next(t for t, v in zip(found.at, found.series[0].values, strict=True) if v) + found.step_s // 2


def _sampled(operator: Any, since: datetime) -> bool:
    memory, decisions = operator.series(METRICS.split(","), start=since).series
    return sum(bool(v) for v in memory.values) >= 2 and any(decisions.values)


def opened(page: Page, site: Stack, query: str = "?last=15m") -> None:
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    page.goto(f"/usage{query}")
    page.locator(".u-over").first.wait_for()


def test_zoom_choose_a_moment_and_share_the_view(page: Page, lived: Stack, busy_at: int) -> None:
    opened(page, lived)
    memory = page.get_by_role("region", name="Memory", exact=True)
    expect(memory.get_by_text("Allocated")).to_be_visible()
    over = memory.locator(".u-over")
    box = over.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 20, box["y"] + 60, steps=5)  # to the end, near which it was busy
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"from=\d+&to=\d+"))
    start, end = (int(n) for n in re.findall(r"(?:from|to)=(\d+)", page.url))
    assert 300 < end - start < 600, "about half of a quarter of an hour"
    box = over.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] * (busy_at - start) / (end - start), box["y"] + 50)
    panel = page.get_by_role("complementary", name="At the chosen moment")
    expect(panel.get_by_role("button", name="root.default", exact=True)).to_be_visible()
    shared = page.url
    assert "at=" in shared
    title = panel.get_by_role("heading").first.inner_text()
    memory.locator(".plot").press("ArrowLeft")
    expect(panel.get_by_role("heading").first).not_to_have_text(title)
    other = page.context.new_page()
    other.goto(shared)
    expect(other.get_by_role("complementary").get_by_role("heading").first).to_have_text(title)
    expect(other.get_by_role("status").filter(has_text="–").first).to_have_text(
        page.get_by_role("status").filter(has_text="–").first.inner_text()
    )
    other.get_by_role("complementary").get_by_role("button", name="root.default", exact=True).click()
    expect(other).to_have_url(re.compile("scope=queue%3Aroot.default"))
    expect(other.get_by_role("region", name="Dominant share", exact=True)).to_be_visible()


def test_changes_are_marked_and_numbers_stand_in_tables_and_files(page: Page, lived: Stack) -> None:
    opened(page, lived)
    marked = page.get_by_role("region", name="Marked on the charts")
    expect(marked).to_contain_text("in force: Charts mark this")
    version = lived.client("operator").policy().version
    link = marked.get_by_role("link", name="Charts mark this").first
    expect(link).to_have_attribute("href", f"/policy/rollouts?version={version}")
    page.get_by_role("button", name="As a table: Decisions").click()
    table = page.get_by_role("region", name="Decisions as a table")
    expect(table.get_by_role("columnheader", name="Per second")).to_be_visible()
    assert table.get_by_role("row").count() > 20
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV: Memory").click()
    text = saved.value.path().read_text()
    assert text.startswith("time,Capacity (GiB),Allocated (GiB),Used (GiB),Pending (GiB)\n") or "time,Capacity" in text
    expect(page.get_by_role("link", name="Link to exactly this")).to_have_count(0)
    marked.get_by_role("button").first.click()
    expect(page).to_have_url(re.compile(r"last=15m&at=\d+"))
    page.get_by_role("link", name="Link to exactly this").click()
    expect(page).to_have_url(re.compile(r"from=\d+&to=\d+&at=\d+"))
    expect(page.get_by_role("link", name="Link to exactly this")).to_have_count(0)
    node = next(iter(lived.client("operator").nodes()))
    page.goto(f"/fleet/nodes/{node.id}")
    page.get_by_role("region", name="Marked on the charts").get_by_role("link", name="Charts mark this").first.click()
    expect(page.get_by_role("region", name=f"Who runs version {version}")).to_be_visible()


def test_a_tenant_without_a_queue_of_its_own_sees_its_own_use_and_no_others(page: Page, lived: Stack) -> None:
    sign_in(page, "tenant", lived.home.secrets()["tenant_password"])
    page.goto("/usage")
    page.get_by_role("heading", name="What the jobs of tenant used").wait_for()
    page.get_by_role("cell", name="root.default").wait_for()
    assert page.get_by_role("link", name="Save as CSV").get_attribute("href").startswith("/api/v1/usage/hours.csv?")
    assert page.evaluate("fetch('/api/v1/series?metric=used_memory_mib').then(r => r.status)") == 403


def test_what_an_account_used_wasted_and_waited_is_drawn_over_time(page: Page, lived: Stack) -> None:
    opened(page, lived)
    page.get_by_role("link", name="Accounts").click()
    page.get_by_role("region", name="By account").get_by_role("button", name="tenant", exact=True).click()
    expect(page).to_have_url(re.compile(r"/usage/accounts\?owner=tenant"))
    told = page.get_by_role("region", name="What the jobs of tenant used")
    expect(told).to_contain_text(re.compile(r"core hours wasted, \d+ %"))
    expect(told).to_contain_text("on average")
    cores = page.get_by_role("region", name="Cores", exact=True)
    expect(cores.locator(".u-legend")).to_contain_text("Wasted")
    expect(page.get_by_role("region", name="Waited", exact=True).locator(".u-over")).to_be_visible()
    page.get_by_role("button", name="As a table: Memory").click()
    expect(page.get_by_role("region", name="Memory as a table").get_by_role("columnheader")).to_have_text(
        ["From", "Allocated", "Used", "Wasted"]
    )
    page.get_by_role("button", name="root.default", exact=True).click()
    expect(page.get_by_role("region", name="What the jobs of tenant used in root.default")).to_be_visible()
    expect(page).to_have_url(re.compile("queue=root.default"))
    page.get_by_role("region", name="By tag").get_by_role("button", name="once", exact=True).click()
    tagged = page.get_by_role("region", name="What the jobs of tenant tagged once used in root.default")
    expect(tagged).to_contain_text("counts in the day")
    page.get_by_role("region", name="Cores", exact=True).locator(".u-over").wait_for()
    tagged.get_by_role("button", name="Whatever the tags").click()
    assert barriers(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_label("Account", exact=True).fill("nobody-here")
    expect(page.get_by_text("there is no such account whose use you may see").first).to_be_visible()


def test_no_barriers(page: Page, lived: Stack, busy_at: int) -> None:
    opened(page, lived, f"?last=15m&at={busy_at}")
    page.get_by_role("complementary", name="At the chosen moment").get_by_role(
        "button", name="root", exact=True
    ).wait_for()
    page.get_by_role("button", name="As a table: Memory").click()
    assert barriers(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
