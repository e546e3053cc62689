"""What operators do with the policy in the browser: write, look at, push, follow, take back."""

import datetime as dt
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from client import Client
from client.commands.policy import read
from tests.browser.barriers import barriers, barriers_on_a_phone
from tests.browser.chromium import sign_in
from tests.browser.conftest import WAIT_MS
from tests.patience import wait_until
from tests.stack import Stack

DOCUMENT: dict[str, Any] = {
    "queues": {
        "default": {"guaranteed": 0.5, "open_to_all": True},
        "prod": {"guaranteed": 0.3, "children": {"etl": {"guaranteed": 0.6}, "web": {"guaranteed": 0.4}}},
        "ads": {"guaranteed": 0.2, "open_to_all": True},
    }
}


@pytest.fixture
def operator(site: Stack) -> Iterator[Client]:
    """The SDK as the operator; the policy of these tests is in force, and afterwards the one from before."""
    client = site.client("operator")
    before = client.policy().document or {}
    client.push_policy(DOCUMENT, "for tests", force=True)
    yield client
    last = next(client.rollouts(page_size=1), None)
    if last is not None and last.live:
        client.steer_rollout(last.id, "abort", "the test is over")
    for held in list(client.overrides()):
        client.cancel_override(held.id)
    client.push_policy(before, "as before the test", force=True)


@pytest.fixture
def tab(page: Page, site: Stack, operator: Client) -> Page:
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    return page


def guaranteed(client: Client, queue: str) -> Any:
    return (client.policy().document or {})["queues"][queue]["guaranteed"]


def edit(page: Page, queue: str, share: str) -> None:
    page.goto(f"/policy/edit?at=/queues/{queue}")
    field = page.get_by_role("region", name=f"Queue root.{queue}").get_by_role("textbox", name="Guaranteed")
    field.fill(share)
    field.press("Enter")
    expect(page.get_by_role("option", name=f"root.{queue}, guaranteed {share}, changed")).to_be_visible()


def to_plan(page: Page) -> None:
    page.get_by_role("button", name="Plan and push…").click()
    expect(page.get_by_role("heading", name="What it would do")).to_be_visible()


def test_a_field_that_is_still_typed_in_is_planned(tab: Page) -> None:
    tab.goto("/policy/edit?at=/queues/ads")
    tab.get_by_role("button", name="Plan and push…").click()
    expect(tab.get_by_text("Nothing is changed yet.")).to_be_visible()
    tab.get_by_role("region", name="Queue root.ads").get_by_role("textbox", name="Guaranteed").fill("15%")
    to_plan(tab)
    expect(tab.get_by_role("region", name="What changes")).to_contain_text("root.ads guaranteed")
    tab.get_by_role("button", name="Back to the document").click()
    tab.get_by_role("button", name="Discard…").click()
    tab.get_by_role("dialog").get_by_role("button", name="Discard", exact=True).click()


def test_a_capacity_is_edited_planned_pushed_to_a_canary_followed_and_rolled_back(tab: Page, operator: Client) -> None:
    first = operator.policy().version
    edit(tab, "ads", "15%")
    expect(tab.get_by_text("95 % guaranteed, 5 % left").first).to_be_visible()
    to_plan(tab)
    expect(tab.get_by_role("region", name="What changes")).to_contain_text("root.ads guaranteed 20 % -> 15 %")
    row = tab.get_by_role("table", name=re.compile("Shares of .* now and then")).get_by_role("row", name="root.ads")
    expect(row).to_be_visible()
    assert operator.policy().version == first, "nothing is changed by looking"
    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Save as policy.yaml").click()
    document, parent = read(saved.value.path())  # as hydractl policy push -f does
    assert (saved.value.suggested_filename, parent, document["queues"]["ads"]["guaranteed"]) == (
        "policy.yaml", first, "15%",
    )  # fmt: skip
    tab.get_by_role("button", name="Push to all").click()
    expect(tab.get_by_role("alert")).to_contain_text("no message")
    tab.get_by_label("What changes, and why").fill("ads are over <img src=x onerror=alert(1)>")
    tab.get_by_text("In stages").click()
    expect(tab.get_by_role("status").filter(has_text="None of this change is tried in a stage")).to_be_visible()
    stage = tab.get_by_role("group", name="Canary")
    expect(stage.get_by_role("checkbox", name="east")).to_be_checked()
    stage.get_by_label("Watched for, s").fill("1")
    tab.get_by_role("group", name="Everywhere").get_by_label("Watched for, s").fill("1")
    tab.get_by_label("Jobs wait at most, s").fill("600")
    expect(tab.get_by_text("--staged east --soak 1 --watch 1 --guard pending_p99_s=600")).to_be_visible()
    tab.get_by_role("button", name="Push to east").click()
    card = tab.get_by_role("region", name=re.compile(r"^Rollout \d+$"))
    expect(card).to_contain_text("Jobs wait at most")
    expect(card).to_contain_text("Completed")
    expect(card.get_by_role("list", name="Stages")).to_contain_text("in force")
    spread = tab.get_by_role("table", name="Convergence")
    expect(tab.get_by_role("status").filter(has_text="converged")).to_be_visible()
    expect(spread.get_by_role("row", name=re.compile("^RMs"))).to_contain_text("2 of 2")
    nodes = spread.get_by_role("row", name=re.compile("^Nodes")).get_by_role("cell").first
    expect(nodes).to_have_text(re.compile(r"^(\d+) of \1$"))
    assert guaranteed(operator, "ads") == "15%"
    tab.get_by_role("link", name="History").click()
    tab.get_by_role("button", name=f"Roll back to version {first}…").click()
    dialog = tab.get_by_role("dialog")
    expect(dialog).to_contain_text("root.ads guaranteed 15 % -> 20 %")
    expect(dialog).to_contain_text(f"hydractl policy rollback {first} -m 'Back to version {first}'")
    dialog.get_by_role("button", name="Roll back", exact=True).click()
    wait_until(lambda: guaranteed(operator, "ads") == 0.2, 20, "what was before is in force again")
    expect(tab.get_by_role("link", name=re.compile("in force, everything runs it"))).to_be_visible()


def test_two_operators_edit_at_once_and_nobody_loses_anything(tab: Page, operator: Client) -> None:
    edit(tab, "ads", "15%")
    to_plan(tab)
    tab.get_by_label("What changes, and why").fill("mine")
    theirs = {"queues": DOCUMENT["queues"] | {"default": {"guaranteed": 0.45, "open_to_all": True}}}
    operator.push_policy(theirs, "theirs came first")
    both = tab.get_by_role("region", name="Changed by somebody else meanwhile")
    expect(both).to_contain_text("theirs came first")
    expect(both.get_by_role("region", name="Their change")).to_contain_text("queues.default.guaranteed")
    expect(both.get_by_role("region", name="Your change")).to_contain_text("queues.ads.guaranteed")
    both.get_by_role("button", name="Go on with both changes").click()
    expect(tab.get_by_role("region", name="What changes")).to_contain_text("root.ads guaranteed 20 % -> 15 %")
    again = {"queues": theirs["queues"] | {"ads": {"guaranteed": 0.1, "open_to_all": True}}}
    operator.push_policy(again, "the same place")
    expect(both).to_contain_text("One place that both of you changed")
    expect(both).to_contain_text("queues.ads.guaranteed")
    both.get_by_role("button", name="Go on with both, as chosen").click()
    expect(tab.get_by_role("region", name="What changes")).to_contain_text("root.ads guaranteed 10 % -> 15 %")
    tab.get_by_label("What changes, and why").fill("mine, after theirs")
    tab.get_by_role("button", name="Push to all").click()
    expect(tab.get_by_role("table", name="Convergence")).to_be_visible()
    wait_until(lambda: guaranteed(operator, "ads") == "15%", 20, "mine is in force")
    assert guaranteed(operator, "default") == 0.45, "and so is theirs"


def test_a_push_that_crosses_another_is_refused_by_its_etag_and_keeps_the_text(tab: Page, operator: Client) -> None:
    edit(tab, "ads", "12%")
    to_plan(tab)
    expect(tab.get_by_role("region", name="What changes")).to_contain_text("root.ads guaranteed 20 % -> 12 %")
    tab.get_by_label("What changes, and why").fill("mine")
    tab.route("**/api/v1/policy", _crossed(operator))
    tab.get_by_role("button", name="Push to all").click()
    both = tab.get_by_role("region", name="Changed by somebody else meanwhile")
    expect(both).to_contain_text("it crossed yours")
    assert guaranteed(operator, "ads") == 0.2
    tab.reload()
    expect(both.get_by_role("region", name="Your change")).to_contain_text("12%")
    tab.get_by_role("button", name="Back to the document").click()
    expect(tab.get_by_text("Your unsaved text is back.")).to_be_visible()


def test_a_rollback_from_an_older_page_takes_back_nothing_that_crosses_it(tab: Page, operator: Client) -> None:
    first = operator.policy().version
    queues = DOCUMENT["queues"]
    for weight in range(1, 27):  # a page and one more
        operator.push_policy({"queues": queues | {"ads": {**queues["ads"], "weight": weight}}}, f"weight {weight}")
    tab.goto("/policy/history")
    tab.get_by_role("button", name="Older").click()
    tab.get_by_role("button", name=f"Roll back to version {first}…").click()
    dialog = tab.get_by_role("dialog")
    expect(dialog).to_contain_text("root.ads weight 26 -> as guaranteed")
    operator.push_policy({"queues": queues | {"default": {"guaranteed": 0.4, "open_to_all": True}}}, "it crosses")
    dialog.get_by_role("button", name="Roll back", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("version")
    assert guaranteed(operator, "default") == 0.4


def _crossed(operator: Client) -> Any:
    """Another operator's push arrives while this one's is on its way."""

    def between(route: Any) -> None:
        if route.request.method == "POST":
            queues = DOCUMENT["queues"] | {"default": {"guaranteed": 0.4, "open_to_all": True}}
            operator.push_policy({"queues": queues}, "it crossed yours")
        route.continue_()

    return between


def _write(page: Page, text: Locator, whole: str) -> None:
    """As by paste over everything: what the browser itself would make of it carries styles, which the page forbids."""
    text.press("Control+a")
    text.press("Delete")
    page.keyboard.insert_text(whole)


def test_an_error_is_shown_at_its_line_and_the_text_survives_a_reload(tab: Page) -> None:
    tab.goto("/policy/edit?view=text")
    text = tab.get_by_role("textbox", name="Policy document")
    _write(tab, text, "# mine\nqueues:\n  default:\n    guaranteed: 2\n")
    problems = tab.get_by_role("alert", name="Problems")
    expect(problems).to_contain_text("line 4, queues.default.guaranteed")
    expect(tab.locator(".cm-lint-marker-error")).to_be_visible()
    expect(tab.get_by_role("button", name="Plan and push…")).to_be_disabled()
    tab.reload()
    expect(tab.get_by_text("Your unsaved text is back.")).to_be_visible()
    expect(text).to_contain_text("# mine")
    tab.get_by_text("Form", exact=True).click()
    field = tab.get_by_role("region", name="Queue root.default").get_by_role("textbox", name="Guaranteed")
    field.fill("80%")
    field.press("Enter")
    expect(problems).to_be_hidden()
    tab.get_by_text("Text", exact=True).click()
    expect(text).to_contain_text("# mine")
    expect(text).to_contain_text("guaranteed: 80%")
    _write(tab, text, "queues:\n  default:\n    guaranteed: 1\n    submit:\n      - adda\n")
    expect(tab.get_by_text("there is no account 'adda'")).to_be_visible()
    expect(tab.get_by_text("Valid, with 1 warning")).to_be_visible()
    expect(tab.get_by_role("button", name="Plan and push…")).to_be_enabled()
    tab.get_by_role("button", name="queues.default.submit").click()
    expect(tab.locator(".cm-activeLine")).to_contain_text("submit")
    _write(tab, text, "queues: [1\n")
    expect(problems).to_contain_text("line ")
    tab.get_by_role("button", name="Discard…").click()
    tab.get_by_role("dialog").get_by_role("button", name="Discard", exact=True).click()
    expect(text).to_contain_text("open_to_all: true")


def test_the_editor_knows_the_schema(tab: Page) -> None:
    tab.goto("/policy/edit?view=text&at=/queues/ads/guaranteed")
    text = tab.get_by_role("textbox", name="Policy document")
    expect(text).to_be_focused()
    tab.keyboard.press("End")
    tab.keyboard.type("\nmax_r")
    expect(tab.get_by_role("option", name=re.compile("max_running_jobs")).first).to_be_visible()
    expect(tab.locator(".cm-completionInfo")).to_contain_text("jobs in it at a time")
    tab.get_by_role("option", name=re.compile("max_running_jobs")).first.click()
    tab.keyboard.type("5")
    expect(tab.get_by_text("Nothing wrong, 5 queues")).to_be_visible()
    tab.locator(".cm-line", has_text="open_to_all").first.locator(".cm-key").hover()
    expect(tab.locator(".cm-help")).to_contain_text("whether every account may submit here")


def _tab_to(page: Page, wanted: Locator, key: str = "Tab") -> None:
    expect(wanted.first).to_be_visible()
    for _ in range(120):
        if wanted.first.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"the keyboard does not get to {wanted}")


def test_everything_works_by_keyboard_alone(tab: Page, operator: Client) -> None:
    tab.goto("/policy/edit")
    _tab_to(tab, tab.get_by_role("option", name=re.compile("^root.ads")))
    tab.keyboard.press("ArrowDown")
    expect(tab.get_by_role("option", name=re.compile("^root.default"))).to_be_focused()
    _tab_to(tab, tab.get_by_role("region", name="Queue root.default").get_by_role("textbox", name="Guaranteed"))
    tab.keyboard.press("Control+a")
    tab.keyboard.type("45%")
    tab.keyboard.press("Enter")
    plan = tab.get_by_role("button", name="Plan and push…")
    expect(plan).to_be_enabled()
    _tab_to(tab, plan, "Shift+Tab")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("region", name="What changes")).to_contain_text("root.default guaranteed 50 % -> 45 %")
    _tab_to(tab, tab.get_by_label("What changes, and why"))
    tab.keyboard.type("by keyboard")
    _tab_to(tab, tab.get_by_role("button", name="Push to all"))
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("table", name="Convergence")).to_be_visible()
    wait_until(lambda: guaranteed(operator, "default") == "45%", 20, "it is in force")


def test_a_rollout_is_paused_resumed_and_aborted(tab: Page, operator: Client) -> None:
    packed = DOCUMENT | {"components": {"placement": {"policy": "pack"}}}
    stages = [{"sub_clusters": ["east"], "soak_s": 3600}, {"sub_clusters": ["west"], "soak_s": 0}]
    rollout = operator.roll_out(packed, "pack", stages=stages, guards={"pending_p99_s": 600, "failure_share": 0.5})
    tab.goto("/policy/rollouts")
    card = tab.get_by_role("region", name=f"Rollout {rollout.id}", exact=True)
    expect(card).to_contain_text("Soaking")
    expect(card).to_contain_text(re.compile(r"watched for \d+ min more"))
    expect(card.get_by_role("table", name="Guards")).to_contain_text("Jobs wait at most")
    for order, state in (("Pause", "Paused"), ("Resume", "Soaking"), ("Abort", "Rolled back")):
        if order == "Resume":  # the palette has the orders of the page one is at
            card.get_by_role("button", name="Resume…").wait_for()
            tab.keyboard.press("Control+k")
            tab.get_by_role("combobox", name="Find").fill("resume")
            tab.get_by_role("option", name=f"Resume rollout {rollout.id}").click()
        else:
            card.get_by_role("button", name=f"{order}…").click()
        dialog = tab.get_by_role("dialog", name=f"{order} the rollout")
        dialog.get_by_label("Why").fill(f"to {order.lower()}")
        expect(dialog).to_contain_text(f"hydractl policy rollout {order.lower()} {rollout.id} -m 'to {order.lower()}'")
        dialog.get_by_role("button", name=order, exact=True).click()
        expect(dialog).to_have_count(0)  # the order is taken
        tab.goto(f"/policy/rollouts/{rollout.id}")
        expect(card.locator("header [data-state]")).to_have_text(state)
    tab.goto("/policy/audit?action=policy.rollout")
    expect(tab.get_by_role("list", name="Entries")).to_contain_text("policy.rollout.abort")


def test_an_override_stands_on_the_calendar_and_is_cancelled(tab: Page, operator: Client) -> None:
    tab.goto("/policy/overrides?span=week")
    tab.get_by_role("button", name="Add an override…").click()
    dialog = tab.get_by_role("dialog")
    dialog.get_by_role("button", name="Add it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("of which queue")
    dialog.get_by_role("combobox", name="Queue").fill("ADS")
    dialog.get_by_role("option", name="root.ads", exact=True).click()
    dialog.get_by_label("Value").fill("+20")
    until = (dt.datetime.now().astimezone() + dt.timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M")
    dialog.get_by_label("Until", exact=True).fill(until)
    dialog.get_by_label("Why").fill("the launch")
    expect(dialog).to_contain_text(f"hydractl policy overrides add root.ads guaranteed --by +20% --until {until}")
    dialog.get_by_role("button", name="Add it").click()
    expect(dialog).to_be_hidden()
    bar = tab.get_by_role("region", name="Calendar").get_by_role("button", name=re.compile("^root.ads guaranteed"))
    bar.first.click()
    one = tab.get_by_role("region", name=re.compile(r"^Override \d+$"))
    expect(one).to_contain_text("in force")
    expect(one).to_contain_text("the launch")
    wait_until(lambda: operator.policy().overrides, 20, "it holds")
    one.get_by_role("button", name="Cancel it…").click()
    tab.get_by_role("dialog").get_by_role("button", name="Cancel the override").click()
    expect(one).to_contain_text("cancelled")
    wait_until(lambda: not operator.policy().overrides, 20, "it holds no longer")


def test_nothing_keeps_anybody_from_reading_it(browser: Browser, site: Stack, operator: Client) -> None:
    operator.add_override(
        "root.ads", "weight", {"to": 2}, dt.datetime.now(dt.UTC) + dt.timedelta(days=40), "for a time",
        starts_at=dt.datetime.now(dt.UTC) + dt.timedelta(days=1),
    )  # fmt: skip
    context = browser.new_context(base_url=site.url, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    edit(page, "ads", "15%")
    wrong = {}
    parts = ["edit?at=/queues/prod/children/etl", "edit?at=/components", "edit?view=text", "edit?step=plan"]
    parts += [
        "rollouts",
        "proposals",
        "simulations",
        "history?version=1",
        f"history?from=1&to={operator.policy().version}",
        "overrides",
        "audit",
    ]
    for part in parts:
        page.goto(f"/policy/{part}")
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        expect(page.get_by_role("heading", level=2).or_(page.get_by_role("textbox")).first).to_be_visible()
        if found := barriers(page) + barriers_on_a_phone(page):
            wrong[part] = found
    context.close()
    assert not wrong
