"""Two ways side by side in a browser: written in the policy's form, compared on the fleet's page."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from client import Client
from tests.browser.barriers import barriers, barriers_on_a_phone
from tests.browser.chromium import sign_in
from tests.stack import Stack


@pytest.fixture
def operator(site: Stack) -> Iterator[Client]:
    """The SDK as the operator; afterwards the policy from before is in force."""
    client = site.client("operator")
    before = client.policy().document or {}
    yield client
    client.push_policy(before, "as before the test", force=True)


@pytest.fixture
def tab(page: Page, site: Stack, operator: Client) -> Page:
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    return page


def test_one_sub_cluster_is_given_a_way_of_its_own_in_the_form(tab: Page, operator: Client) -> None:
    tab.goto("/policy/edit?at=/sub_clusters")
    expect(tab.get_by_text("All sub-clusters run the cluster's components")).to_be_visible()
    tab.get_by_label("Sub-cluster to add").select_option("east")
    tab.get_by_role("button", name="Add sub-cluster").click()
    east = tab.get_by_role("region", name="east")
    placement = east.locator("details", has_text="Placement")
    expect(placement.locator("summary")).to_have_text(re.compile("as the cluster"))
    placement.locator("summary").press("Enter")
    policy = placement.get_by_label("Policy", exact=True)
    expect(policy.locator("option").first).to_have_text("spread (the cluster's)")
    expect(placement.get_by_label("Batch")).to_have_attribute("placeholder", "10000 (the cluster's)")
    policy.select_option("pack")
    expect(placement.locator("summary")).to_contain_text("policy pack")
    assert barriers(tab) == []
    tab.get_by_role("button", name="Plan and push…").click()
    expect(tab.get_by_role("region", name="What changes")).to_contain_text("east: placement policy spread -> pack")
    tab.get_by_label("What changes, and why").fill("whether packing starves the gangs less")
    tab.get_by_role("button", name="Push to all").click()
    expect(tab).to_have_url(re.compile("/policy/rollouts"))
    assert (operator.policy().document or {})["sub_clusters"] == {
        "east": {"components": {"placement": {"policy": "pack"}}}
    }


def test_what_sub_clusters_do_stands_side_by_side_with_what_they_differ_in(tab: Page, operator: Client) -> None:
    own = {"components": {"placement": {"policy": "pack"}}}
    operator.push_policy((operator.policy().document or {}) | {"sub_clusters": {"east": own}}, "A/B")
    tab.goto("/fleet")
    tab.get_by_role("link", name="Compare sub-clusters").press("Enter")
    table = tab.get_by_role("table", name=re.compile("^What each did from "))
    expect(table.get_by_role("columnheader")).to_have_text(["Measure", "east", "west"])
    row = table.get_by_role("row", name=re.compile(r"^placement\.policy"))
    expect(row.get_by_role("cell")).to_have_text(["pack", "spread"])
    expect(tab.get_by_text(re.compile("^The same in all: .*preemption owed"))).to_be_visible()
    assert barriers(tab) == [] and barriers_on_a_phone(tab) == []
    tab.get_by_text("1 h", exact=True).click()
    tab.get_by_role("checkbox", name="west").press("Space")
    tab.wait_for_url("**/fleet/compare?names=east&window=3600")
    expect(tab.get_by_role("table").get_by_role("columnheader")).to_have_text(["Measure", "east"])
    expect(tab.get_by_text(re.compile("^There is nothing beside east"))).to_be_visible()
    expect(tab.get_by_text("hydractl compare east --window 3600s")).to_be_visible()


def test_a_comparison_that_cannot_be_made_says_why(tab: Page) -> None:
    tab.goto("/fleet/compare?names=nowhere")
    expect(tab.get_by_role("alert")).to_contain_text("there is no sub-cluster 'nowhere'")
    tab.get_by_role("checkbox", name="west").press("Space")
    tab.get_by_role("checkbox", name="nowhere").press("Space")
    expect(tab.get_by_role("columnheader")).to_have_text(["Measure", "west"])


def test_a_tenant_sees_no_comparison(signed_in: Page) -> None:
    signed_in.goto("/fleet")
    expect(signed_in.get_by_role("heading", level=1)).to_have_text("Fleet")
    expect(signed_in.get_by_role("link", name="Compare sub-clusters")).to_have_count(0)
