"""What an operator does with nodes in the browser."""

import json
import re

from playwright.sync_api import Page, expect

from tests.browser.chromium import sign_in
from tests.patience import wait_until
from tests.stack import Stack

RESOURCES = {"memory_mib": 64, "vcores_milli": 100}


def tile(page: Page, name: str, state: str) -> None:
    """The node on the fleet's page, which is opened first."""
    page.goto("/fleet")
    expect(page.get_by_role("link", name=re.compile(f"^{name}, {state}"))).to_be_visible()


def shown(page: Page, state: str) -> None:
    """The state on the node's own page."""
    expect(page.locator("h1 + [data-state]")).to_have_attribute("data-state", state)


def test_a_node_is_drained_after_a_look_and_taken_back(page: Page, site: Stack) -> None:
    tenant = site.client("tenant")
    group = {"name": "g", "count": 8, "command": ["sleep", "600"], "resources": RESOURCES, "estimated_duration_s": 500}
    job = tenant.submit({"name": "long", "groups": [group]})
    held = wait_until(lambda: [c for c in tenant.containers(job.id) if c.state == "RUNNING"], 30, "it runs")
    name = held[0].node or ""
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    page.goto("/fleet")
    page.get_by_role("link", name=re.compile(f"^{name}, Up")).click()
    expect(page.get_by_role("row").filter(has_text=f"#{job.id}").first).to_contain_text("root.default")
    page.get_by_role("button", name="Drain…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("end by themselves")
    expect(dialog).to_contain_text(f"hydractl node drain {name.rsplit('-', 1)[0]}/{name} --deadline 1h")
    dialog.get_by_label("What still runs then is stopped").select_option("0s")
    dialog.get_by_label("Why").fill("new disks")
    expect(dialog).to_contain_text("--deadline 0s --message 'new disks'")
    dialog.get_by_role("button", name="Drain", exact=True).click()
    expect(dialog).to_be_hidden()
    shown(page, "DRAINED")
    expect(page.get_by_text("Drained by operator: nothing is left there. new disks")).to_be_visible()
    page.get_by_role("button", name="Back to work").click()
    page.get_by_role("dialog").get_by_role("button", name="Back to work").click()
    shown(page, "UP")
    expect(page.get_by_text("Nothing runs here")).to_have_count(1)
    tenant.kill(job.id)
    tenant.wait(job.id, timeout_s=30)


def test_a_maintenance_window_is_planned_seen_and_cancelled(page: Page, site: Stack) -> None:
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    page.goto("/fleet")
    card = page.get_by_role("region", name="Maintenance")
    card.get_by_role("button", name="Plan a window…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Plan it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Say which nodes")
    dialog.get_by_label("Sub-cluster").select_option("west")
    dialog.get_by_label("Which").fill("west-2")
    dialog.get_by_label("Services move, minutes before").fill("120")
    dialog.get_by_label("Why").fill("power")
    dialog.get_by_role("button", name="Plan it").click()
    expect(dialog).to_be_hidden()
    expect(card).to_contain_text("node west-2")
    expect(page.get_by_role("link", name=re.compile("^west-2, (Maintenance|Drained)"))).to_be_visible()
    card.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the window").click()
    expect(card).to_contain_text("No maintenance is planned")
    tile(page, "west-2", "Up")


def test_tenants_see_windows_and_may_change_nothing(page: Page, site: Stack) -> None:
    operator = site.client("operator")
    (node,) = operator.nodes(name="east-2")
    operator.cordon(node.id, "a noisy fan")
    sign_in(page, "tenant", site.home.secrets()["tenant_password"])
    page.goto("/fleet")
    expect(page.get_by_role("link", name=re.compile("^east-2, Cordoned"))).to_be_visible()
    expect(page.get_by_role("region", name="Maintenance")).to_have_count(0)
    page.get_by_role("link", name=re.compile("^east-2, Cordoned")).click()
    expect(page.get_by_text("a noisy fan")).to_be_visible()
    expect(page.get_by_role("button", name="Back to work")).to_have_count(0)
    operator.uncordon(node.id)
    tile(page, "east-2", "Up")
    assert "duty" in json.loads(page.evaluate("fetch('/api/v1/nodes').then(r => r.text())"))["results"][0]


def test_a_sub_cluster_is_drained_after_a_look_and_resumed(page: Page, site: Stack) -> None:
    tenant, operator = site.client("tenant"), site.client("operator")
    operator.drain_sub_cluster("east")
    group = {"name": "g", "count": 3, "command": ["sleep", "600"], "resources": RESOURCES, "estimated_duration_s": 500}
    job = tenant.submit({"name": "held", "groups": [group]})
    assert job.home == "west"
    operator.resume_sub_cluster("east")
    wait_until(lambda: [c for c in tenant.containers(job.id) if c.state == "RUNNING"], 30, "it runs")
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    page.goto("/")
    card = page.get_by_test_id("sc-west")
    card.get_by_role("button", name="Drain sub-cluster…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 job at home, 3 containers")
    expect(dialog).to_contain_text("root.default")
    dialog.get_by_label("What still runs then is stopped").select_option("4h")
    dialog.get_by_label("Why").fill("new hall")
    expect(dialog).to_contain_text("end by themselves")
    expect(dialog).to_contain_text("hydractl sub-cluster drain west --deadline 4h --message 'new hall'")
    dialog.get_by_role("button", name="Drain", exact=True).click()
    expect(dialog).to_be_hidden()
    expect(card).to_contain_text("Draining")
    expect(card).to_contain_text("1 job and 3 containers left")
    expect(card).to_contain_text("new hall")
    expect(card.get_by_role("button", name="Decommission sub-cluster…")).to_be_disabled()
    expect(page.get_by_text(re.compile(r"of \d+, \d+ closed"))).to_be_visible()
    tile(page, "west-1", "(Draining|Drained)")
    page.goto("/")
    card.get_by_role("button", name="Resume sub-cluster").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume", exact=True).click()
    expect(card).not_to_contain_text("Draining")
    tenant.kill(job.id)
    tenant.wait(job.id, timeout_s=30)
