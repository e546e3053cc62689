"""A terminal in a running task, by keys alone in a real browser."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from client import Client
from contract.jobs import Job
from tests.browser.barriers import barriers, barriers_on_a_phone
from tests.patience import wait_until
from tests.stack import Stack

PASTE = """text => {
    const clipboardData = new DataTransfer()
    clipboardData.setData("text/plain", text)
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }))
}"""
SCREEN_PX = "document.querySelector('.xterm-screen').clientWidth"
WARM = """() => [...document.querySelectorAll(".xterm-rows span")]
    .filter(span => span.style.color && /warm/.test(span.textContent)).length"""


@pytest.fixture
def tenant(site: Stack) -> Client:
    return site.client("tenant")


@pytest.fixture
def job(tenant: Client) -> Iterator[Job]:
    group: dict[str, object] = {"name": "web", "command": ["sleep", "600"], "grace_s": 0}
    made = tenant.submit(
        {"name": "entered", "groups": [group | {"resources": {"memory_mib": 128, "vcores_milli": 100}}]}
    )
    wait_until(lambda: any(task.container for task in tenant.tasks(made.id, state="RUNNING")), 60, "it runs")
    yield made
    if tenant.job(made.id).state not in ("KILLED", "KILLING"):
        tenant.kill(made.id)


def columns(page: Page, name: str) -> int:
    """As the command's terminal has them."""
    page.keyboard.type(f"echo {name} $(stty size)\n")
    said = re.compile(rf"^{name} (\d+) (\d+)\s*$")
    line = page.locator(".xterm-rows > div").filter(has_text=said)
    expect(line).to_have_count(1)
    found = said.match(line.inner_text().replace("\xa0", " "))
    assert found
    return int(found[2])


def test_a_terminal_is_opened_used_left_and_says_how_it_ended(signed_in: Page, tenant: Client, job: Job) -> None:
    page = signed_in
    page.goto(f"/jobs/{job.id}")
    page.get_by_role("link", name="Open a terminal").click()
    expect(page.get_by_role("button", name="Open", exact=True)).to_be_focused()
    assert barriers_on_a_phone(page) == []
    page.keyboard.press("Enter")
    card, keys = page.get_by_role("region", name=f"Terminal in {job.id}/web/0"), page.get_by_label("Terminal input")
    expect(card.locator("[data-phase]")).to_contain_text("Runs on")
    expect(card).to_contain_text(f"hydractl exec -it {job.id}/web/0 -- sh")
    expect(keys).to_be_focused()
    lines = page.locator(".xterm-rows > div")
    page.keyboard.type("echo $((6*7))\n")
    expect(lines.filter(has_text=re.compile(r"^42\s*$"))).to_have_count(1)
    page.evaluate(PASTE, "printf '\\033[38;2;200;80;30mwa''rm\\033[0m\\n'")
    page.keyboard.press("Enter")
    expect(lines.filter(has_text=re.compile(r"^warm\s*$"))).to_have_count(1)
    assert page.evaluate(WARM) == 1, "a colour of its own, without a style attribute"
    wait_until(lambda: page.evaluate(SCREEN_PX) > 680, 20, "it is as wide as before the phone")
    wide = columns(page, "wide")
    page.set_viewport_size({"width": 700, "height": 800})
    wait_until(lambda: page.evaluate(SCREEN_PX) < 680, 20, "it has shrunk")
    assert 20 < columns(page, "narrow") < wide
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_label("For screen readers")).to_be_focused()
    page.keyboard.press("Space")
    assert barriers(page) == []
    tenant.kill(job.id)
    expect(card.locator("[data-phase]")).to_contain_text("the container has ended")
    expect(page.get_by_role("button", name="Open again")).to_be_disabled()
