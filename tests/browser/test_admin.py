"""Accounts and tokens by hand: made, used, changed, ended."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from client import Client
from client.errors import HydraError
from tests.browser.barriers import barriers
from tests.browser.chromium import sign_in
from tests.patience import wait_until
from tests.stack import Stack

PASSWORD = "a-long-enough-password"
NAME = "ada.l+1@example.org"


def grant_and_withdraw(page: Page, shown: Locator) -> None:
    """A queue is found by typing, granted, and withdrawn once that is said again."""
    queue = shown.get_by_role("combobox", name="Queue to grant")
    queue.fill("default")
    queue.press("Escape")
    expect(shown.get_by_role("listbox")).to_have_count(0)
    expect(shown).to_be_visible()
    queue.fill("PROD")
    expect(shown.get_by_role("status").filter(has_text="found")).to_be_visible()
    assert barriers(page) == []
    shown.get_by_role("option", name="root.prod", exact=True).click()
    shown.get_by_role("button", name="Grant", exact=True).click()
    assert barriers(page) == []
    shown.get_by_role("button", name="Withdraw root.prod…").click()
    asked = page.get_by_role("dialog", name="Withdraw root.prod")
    expect(asked).to_contain_text(f"hydractl queue rights withdraw root.prod {NAME}")
    assert barriers(page) == []
    asked.get_by_role("button", name="Cancel").click()
    expect(asked).to_have_count(0)
    shown.get_by_role("button", name="Withdraw root.prod…").click()
    asked.get_by_role("button", name="Withdraw", exact=True).click()
    expect(shown.get_by_role("button", name="Withdraw root.prod…")).to_have_count(0)


def revoke_a_token(page: Page, shown: Locator, site: Stack) -> None:
    """One token of theirs ends; the one it was made with stays."""
    with Client(site.url) as anonymous, Client(site.url, anonymous.login(NAME, PASSWORD).token) as theirs:
        with Client(site.url, theirs.create_token("leaked").token) as program:
            assert program.me().username == NAME
            page.reload()
            shown.get_by_role("button", name="Revoke leaked").click()
            asked = page.get_by_role("dialog", name="Revoke the token")
            expect(asked).to_contain_text(f"hydractl account revoke-token {NAME}")
            assert barriers(page) == []
            asked.get_by_role("button", name="Revoke", exact=True).click()
            expect(shown.get_by_role("row").filter(has_text="leaked")).to_have_count(0)
            with pytest.raises(HydraError):
                program.me()
        assert theirs.me().username == NAME


def test_an_account_from_its_making_to_its_end(page: Page, site: Stack, browser: Browser) -> None:
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    page.goto("/admin/accounts")
    page.get_by_role("button", name="New account").click()
    ask = page.get_by_role("dialog", name="New account")
    ask.get_by_role("textbox", name="Name").fill(NAME)
    ask.locator("input[type=password]").fill("password")
    ask.get_by_role("button", name="Create", exact=True).click()
    expect(ask.get_by_text("too short")).to_be_visible()
    assert barriers(page) == []
    ask.locator("input[type=password]").fill(PASSWORD)
    ask.get_by_role("button", name="Create", exact=True).click()
    expect(ask).to_have_count(0)

    other = browser.new_context(base_url=site.url)
    theirs = other.new_page()
    sign_in(theirs, NAME, PASSWORD)

    page.get_by_role("button", name=NAME).click()
    shown = page.get_by_role("dialog", name=NAME)
    grant_and_withdraw(page, shown)
    assert [q.path for q in site.client("operator").account(NAME).queues] == []
    revoke_a_token(page, shown, site)
    shown.get_by_role("button", name="Close the account").click()
    page.get_by_role("dialog", name="Close the account").get_by_role(
        "button", name="Close the account", exact=True
    ).click()
    expect(shown.get_by_text("closed")).to_be_visible()
    theirs.goto("/jobs")
    expect(theirs.get_by_role("button", name="Sign in")).to_be_visible()
    other.close()

    page.goto("/admin/accounts?account=operator")
    shown = page.get_by_role("dialog", name="operator")
    expect(shown.get_by_role("button", name="Change the role")).to_be_disabled()
    expect(shown.get_by_role("button", name="Close the account")).to_be_disabled()


def test_a_token_is_shown_once_and_revoked(overview: Page, site: Stack) -> None:
    page = overview
    page.get_by_role("link", name="Your account").click()
    page.get_by_role("button", name="New token").click()
    ask = page.get_by_role("dialog", name="New token")
    ask.get_by_role("textbox", name="Name").fill("ci <b>")
    ask.get_by_role("button", name="Make the token").click()
    made = page.get_by_role("dialog", name="Token ci")
    secret = made.locator("code").first.inner_text()
    with Client(site.url, secret) as program:
        assert program.me().username == "tenant"
        made.get_by_role("button", name="Done").click()
        expect(made).to_have_count(0)
        row = page.get_by_role("row").filter(has_text="ci <b>")
        expect(row).to_be_visible()
        wait_until(lambda: secret not in page.content(), 20, "it is nowhere on the page any more")
        row.get_by_role("button", name="Revoke").click()
        page.get_by_role("dialog", name="Revoke the token").get_by_role("button", name="Revoke", exact=True).click()
        expect(row).to_have_count(0)
        with pytest.raises(HydraError):
            program.me()


def test_a_secret_is_put_replaced_and_deleted_and_never_shown(overview: Page, site: Stack) -> None:
    page, tenant = overview, site.client("tenant")
    page.get_by_role("link", name="Your account").click()
    page.get_by_role("button", name="New secret").click()
    ask = page.get_by_role("dialog", name="New secret")
    ask.get_by_role("textbox", name="Name").fill(".db")
    ask.get_by_role("textbox", name="Value").fill("hunter2\nof two lines")
    expect(ask).to_contain_text("hydractl secret put .db --file FILE")
    ask.get_by_role("button", name="Keep it").click()
    expect(ask).to_contain_text("beginning with a letter or digit")
    assert barriers(page) == []
    ask.get_by_role("textbox", name="Name").fill("db")
    ask.get_by_role("button", name="Keep it").click()
    row = page.get_by_role("row").filter(has=page.get_by_role("button", name="Replace db", exact=True))
    expect(row).to_be_visible()
    assert "hunter2" not in page.content()
    before = tenant.secrets()[0]
    row.get_by_role("button", name="Replace db").click()
    ask = page.get_by_role("dialog", name="Replace db")
    ask.get_by_role("textbox", name="Value").fill("another")
    ask.get_by_role("button", name="Keep it").click()
    expect(ask).to_have_count(0)
    assert tenant.secrets()[0].changed_at > before.changed_at
    row.get_by_role("button", name="Delete db").click()
    page.get_by_role("dialog", name="Delete the secret").get_by_role("button", name="Delete", exact=True).click()
    expect(row).to_have_count(0)
    assert tenant.secrets() == []


def test_health_says_what_fails_and_what_to_do(page: Page, site: Stack) -> None:
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    page.goto("/admin")
    parts = page.get_by_role("region", name="Health").get_by_role("listitem")
    expect(parts.filter(has_text="postgres")).to_be_visible()
    beat = parts.filter(has_text="beat")
    expect(beat.filter(has_text="It reports.").first).to_be_visible()
    missed = parts.filter(has_text=re.compile(r"start it: manage\.py beat", re.IGNORECASE))
    site.hold("beat")
    try:
        expect(missed.first).to_contain_text(re.compile(r"Silent for \d+ s|None has reported"))
        expect(parts.first).to_have_attribute("data-verdict", re.compile("warn|bad"))
        assert barriers(page) == []
    finally:
        site.release("beat")
    expect(beat.filter(has_text="It reports.").first).to_be_visible()
    page.goto("/admin/joining")
    page.get_by_role("button", name="Revoke the token: Nodes of west").first.click()
    expect(page.get_by_role("dialog")).to_contain_text(re.compile(r"hydractl join-token revoke node/\d+"))
