"""A real browser on a real stack. Without a chromium these tests are skipped, and say so."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from tests.browser.chromium import ARGUMENTS, chromium
from tests.stack import Stack

WAIT_MS = 20_000
expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    path = chromium()
    if path is None:
        pytest.skip("no chromium here: install it, or name one with HYDRA_CHROMIUM")
    opened = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One stack for all browser tests; asked for after the browser, so that nothing starts in vain."""
    with Stack(tmp_path_factory.mktemp("site") / "home") as running:
        yield running


@pytest.fixture
def page(browser: Browser, site: Stack) -> Iterator[Page]:
    """A fresh tab, not signed in. A script error or a violation of the page's policy fails the test."""
    context = browser.new_context(base_url=site.url, viewport={"width": 1280, "height": 900}, accept_downloads=True)
    tab = context.new_page()
    tab.set_default_timeout(WAIT_MS)
    faults: list[str] = []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("console", lambda m: faults.append(m.text) if "Content Security Policy" in m.text else None)
    tab.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    yield tab
    context.close()
    assert faults == []


@pytest.fixture
def signed_in(page: Page, site: Stack) -> Page:
    """The tab, signed in as the tenant, at the overview."""
    sign_in(page, "tenant", site.home.secrets()["tenant_password"])
    return page


def sign_in(page: Page, name: str, password: str) -> None:
    page.goto("/login")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Overview").wait_for()
