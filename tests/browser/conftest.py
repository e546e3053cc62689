"""A real browser on a real stack. Without a chromium these tests are skipped, and say so."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from tests.browser.chromium import ARGUMENTS, chromium, sign_in
from tests.browser.commands import Shown
from tests.homes import ready_made
from tests.machine import FACTOR
from tests.patience import wait_until
from tests.stack import UNHURRIED, Stack

WAIT_MS = 40_000 * FACTOR
expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    path = chromium()
    if path is None:
        pytest.skip("no chromium here: install it, or name one with HYDRA_CHROMIUM")
    opened = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
    yield opened
    opened.close()


@pytest.fixture(scope="package")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One stack for all browser tests; asked for after the browser, so that nothing starts in vain."""
    often = UNHURRIED | {"HYDRA_RATE_LOGIN": "1000/min"}  # each test signs in anew
    often |= {"HYDRA_WEBHOOK_HOSTS": "127.0.0.1"}  # where tests listen
    with Stack(ready_made(tmp_path_factory.mktemp("site") / "home"), environ=often) as running:
        wait_until(lambda: all_up(running), 120, "every node is up", 0.5)
        yield running


def all_up(site: Stack) -> bool:
    up = [node for node in site.client("operator").nodes() if node.state == "UP"]
    return len(up) == site.sub_clusters * site.nodes


@pytest.fixture
def shown() -> Shown:
    """The commands that the tab shows during the test."""
    return Shown()


@pytest.fixture
def page(browser: Browser, site: Stack, shown: Shown) -> Iterator[Page]:
    """A fresh tab, not signed in.

    A script error, a violation of the page's policy or a command that hydractl does not take fails the test.
    """
    context = browser.new_context(base_url=site.url, viewport={"width": 1280, "height": 900}, accept_downloads=True)
    shown.watch(context)
    tab = context.new_page()
    tab.set_default_timeout(WAIT_MS)
    faults: list[str] = []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("console", lambda m: faults.append(m.text) if "Content Security Policy" in m.text else None)
    tab.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    yield tab
    context.close()
    assert faults == []
    assert shown.wrong() == {}


@pytest.fixture
def signed_in(page: Page, site: Stack) -> Page:
    """The tab, signed in as the tenant; the test opens what it wants."""
    sign_in(page, "tenant", site.home.secrets()["tenant_password"])
    return page


@pytest.fixture
def overview(signed_in: Page) -> Page:
    """The tab, signed in as the tenant, at the overview."""
    signed_in.goto("/")
    signed_in.get_by_role("heading", name="Overview").wait_for()
    return signed_in
