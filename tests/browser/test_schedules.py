"""A schedule in the browser: written while the server says when it would start, run, suspended, changed, deleted."""

import re
import uuid

from playwright.sync_api import Locator, Page, expect

from tests.browser.barriers import PHONE, barriers
from tests.stack import Stack


def answered(page: Page, action: str) -> None:
    """Press the button of the page, and that of the question it asks."""
    page.get_by_role("button", name=action, exact=True).click()
    asked = page.get_by_role("dialog")
    asked.get_by_role("button", name=action, exact=True).click()
    expect(asked).to_have_count(0)


def field(page: Page, name: str) -> Locator:
    return page.get_by_label(name).and_(page.locator("input"))


def write(page: Page, name: str) -> None:
    """From the submit page on, by way of some mistakes."""
    page.goto("/submit?view=text")
    page.get_by_role("button", name="Schedule it").click()
    expect(page.get_by_role("heading", name="New schedule")).to_be_visible()
    file = page.get_by_role("textbox", name="Job file")
    expect(file).to_have_value(re.compile("name: hello"))
    field(page, "Name").fill(name)
    field(page, "Time zone").fill("Asia/Tokyo")
    field(page, "Cron").fill("30 25 * * mon-fri")
    expect(page.get_by_text("'30 25 * * mon-fri' is not a cron expression")).to_be_visible()
    field(page, "Cron").fill("30 9 * * mon-fri")
    expect(page.get_by_test_id("words")).to_have_text("At 09:30 on Monday through Friday")
    expect(page.locator(".upcoming li")).to_have_count(5)
    expect(page.locator(".upcoming li").first).to_contain_text("09:30")
    field(page, "Not on").fill("soon")
    expect(page.get_by_text("'soon' is not a day or a span of days")).to_be_visible()
    field(page, "Not on").fill("12-25")
    text = "name: hello\ngroups:\n  - name: g\n    comand: [x]\n"
    file.fill(text)
    expect(page.get_by_role("alert", name="Problems")).to_contain_text("groups.0.comand (group g, line 4, column 5)")
    parameters = "parameters: {schedule_date: , who: world}\n"
    file.fill(parameters + text.replace("comand: [x]", 'command: [echo, "${{ schedule_date }} ${{ who }}"]'))
    expect(page.get_by_label("schedule_date")).to_have_count(0)
    field(page, "who").fill("moon")
    expect(page.get_by_test_id("words")).to_be_visible()
    assert barriers(page) == []
    page.get_by_role("button", name="Create", exact=True).click()


def test_a_schedule_is_written_run_and_looked_at(signed_in: Page, site: Stack) -> None:
    page, name = signed_in, f"nightly-{uuid.uuid4().hex[:8]}"
    write(page, name)
    page.wait_for_url(re.compile(r"/schedules/\d+$"))
    expect(page.get_by_text("It has started nothing yet")).to_be_visible()
    answered(page, "Run now")
    runs = page.get_by_role("table", name="Times, the last one first")
    expect(runs.locator("[data-state=SUCCEEDED]")).to_be_visible()
    expect(runs.get_by_role("row").nth(1)).to_contain_text("by tenant")
    assert barriers(page) == []
    wide = page.viewport_size
    page.set_viewport_size(PHONE)
    expect(runs.locator("thead")).to_be_hidden()  # each time is a card
    expect(page.get_by_role("group", name="Scrolls sideways")).to_have_count(0)
    page.set_viewport_size(wide or PHONE)
    runs.get_by_role("link", name=re.compile("^#")).click()
    page.get_by_role("link", name=name).click()
    answered(page, "Suspend")
    expect(page.get_by_test_id("next")).to_have_text("suspended")
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(field(page, "Not on")).to_have_value("12-25")
    field(page, "Cron").fill("@daily")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator(".facts")).to_contain_text("At 00:00 every day")
    answered(page, "Resume")
    expect(page.get_by_test_id("next")).to_contain_text(re.compile(r"in \d+ (h|min)"))
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Schedules").click()
    row = page.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text("At 00:00 every day")
    expect(row.locator("[data-state=SUCCEEDED]")).to_be_visible()
    assert barriers(page) == []
    row.get_by_role("link", name=name).click()
    answered(page, "Delete")
    expect(page.get_by_role("heading", name="Schedules", level=1)).to_be_visible()
    expect(page.get_by_role("row").filter(has_text=name)).to_have_count(0)
    assert not list(site.client().schedules(name=name))
