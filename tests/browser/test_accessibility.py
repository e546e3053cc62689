"""Every page of the registry, light and dark, as each role: axe finds no fault, and a phone is wide enough."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.barriers import barriers
from tests.browser.chromium import sign_in
from tests.browser.commands import Shown, mistake
from tests.browser.registry import pages
from tests.stack import Stack

BELOW = {
    "/fleet": ("/fleet/compare",),
    "/admin": ("/admin/accounts", "/admin/joining"),
    "/policy": ("/policy/simulations",),
    "/schedules": ("/schedules/new",),
}  # views of a page with addresses of their own
COMMANDS_LEAST = {"operator": 15, "tenant": 8, "viewer": 12}
PASSWORD = "a-long-enough-password"  # of the viewer, whom no stack begins with
LOADING = "#main [role=status][aria-label^=Loading]"
WIDTH = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def addresses(role: str) -> list[str]:
    return [at for page in pages() if page.shown_to(role) for at in (page.to, *BELOW.get(page.to, ()))]


def arrive(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("heading", level=1).first.wait_for()
    expect(page.locator(LOADING)).to_have_count(0)


STYLED = """rule => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(rule)
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
}"""


# A viewer's pages are an operator's without what changes things.
@pytest.mark.parametrize("role", ["operator", "tenant", pytest.param("viewer", marks=pytest.mark.faults)])
def test_no_page_has_a_fault(page: Page, site: Stack, shown: Shown, role: str) -> None:
    if role == "viewer":
        site.client("operator").create_account("looker-on", PASSWORD, "viewer")
        sign_in(page, "looker-on", PASSWORD)
    else:
        sign_in(page, role, site.home.secrets()[f"{role}_password"])
    found = {}
    for address in addresses(role):
        arrive(page, address)
        if faults := barriers(page):
            found[address] = faults
    assert found == {}
    assert len(shown.texts) >= COMMANDS_LEAST[role], "the commands that are shown are looked at"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hydractl nodes --rack r1 --no-such", "No such option: --no-such"),
        ("hydractl polcy plan", "No such command 'polcy'"),
        ("hydractl kill", "MissingParameter"),
        ("hydractl policy simulations x", "valid integer"),
        ("hydractl policy push -f policy.yaml -m '…' --watch ''", ""),
        ("for job in 1 2; do hydractl priority $job -5; done", ""),
        ("for job in 1 2; do hydractl priorities $job 5; done", "No such command 'priorities'"),
        ("hydractl node west/west-1", ""),
    ],
)
def test_a_command_that_hydractl_does_not_take_is_found(text: str, why: str) -> None:
    assert why in mistake(text) if why else mistake(text) == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_fault_is_found_in_either_scheme(overview: Page, scheme: str) -> None:
    faint = f"[data-mantine-color-scheme={scheme}] h1 {{ color: #777; background: #888; }}"
    overview.evaluate(STYLED, faint)
    found = barriers(overview)
    assert found and all(line.startswith(f"{scheme}: color-contrast: <h1") for line in found), found


# The words of what lies over the title's text, of the things beside it.
OVER_TITLE = """() => {
    const title = document.querySelector("h1"), range = document.createRange()
    range.selectNodeContents(title)
    const text = range.getBoundingClientRect()
    const over = b => b.width > 1 && b.left < text.right && text.left < b.right
        && b.top < text.bottom && text.top < b.bottom
    return [...title.parentElement.children].filter(e => e !== title && !e.classList.contains("sr"))
        .filter(e => over(e.getBoundingClientRect())).map(e => e.outerHTML.slice(0, 80))
}"""


def test_a_phone_is_wide_enough_for_every_page_and_its_title(page: Page, site: Stack) -> None:
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    page.set_viewport_size({"width": 375, "height": 812})
    wrong = {}
    for address in (*addresses("operator"), "/submit"):
        arrive(page, address)
        wide, covered = page.evaluate(WIDTH), page.evaluate(OVER_TITLE)
        if wide > 0 or covered:
            wrong[address] = {"wide": wide, "covered": covered}
    assert wrong == {}


def test_a_role_sees_no_dead_link(overview: Page) -> None:
    nav = overview.get_by_role("navigation", name="Pages")
    names = [page.name for page in pages() if page.shown_to("tenant") and page.to != "/account"]
    expect(nav.get_by_role("link")).to_have_text(names)
    for name in names:
        nav.get_by_role("link", name=name, exact=True).click()
        expect(nav.get_by_role("link", name=name, exact=True)).to_have_attribute("aria-current", "page")
        expect(overview.get_by_text("There is no such page")).to_have_count(0)
    overview.goto("/admin")
    expect(overview.get_by_text("There is no such page")).to_be_visible()
