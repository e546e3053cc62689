"""The palette and the keys: found, chosen and left without a mouse."""

import re

from playwright.sync_api import Page, Route, expect

from tests.browser.barriers import barriers
from tests.browser.chromium import sign_in
from tests.patience import wait_until
from tests.stack import Stack


def test_everything_is_found_with_the_keyboard(overview: Page) -> None:
    page = overview
    button = page.get_by_role("button", name="Find")
    button.focus()
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Find")
    expect(field).to_be_focused()
    assert barriers(page) == []
    field.fill("job")
    first = page.get_by_role("option").first
    expect(first).to_have_attribute("aria-selected", "true")
    points = "aria-activedescendant"
    wait_until(lambda: field.get_attribute(points) == first.get_attribute("id"), 20, "it is pointed at")
    page.keyboard.press("ArrowDown")
    expect(first).to_have_attribute("aria-selected", "false")
    page.keyboard.press("Escape")
    expect(page.locator("dialog[aria-label=Find], dialog:has([role=combobox])")).to_have_count(0)  # not only closed
    expect(button).to_be_focused()
    page.keyboard.press("Control+k")
    field.fill("jobs")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible()


def test_what_is_typed_before_it_is_there_is_not_lost(overview: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    overview.route(re.compile("/Palette\\."), hold)
    with overview.expect_request(re.compile("/Palette\\.")):
        overview.keyboard.press("Control+k")
    overview.keyboard.type("x")
    overview.keyboard.press("Escape")
    overview.keyboard.press("Control+k")
    overview.keyboard.type("gj")
    overview.keyboard.press("Control+k")
    overview.get_by_role("button", name="Find").click()
    overview.keyboard.press("Enter")
    overview.keyboard.type("o")
    held[0].continue_()
    field = overview.get_by_role("combobox", name="Find")
    expect(field).to_have_value("gjo")
    expect(field).to_be_focused()
    overview.keyboard.type("bs")
    expect(field).to_have_value("gjobs")
    assert overview.url.endswith("/"), "and leads nowhere"


def test_it_opens_while_it_still_closes(overview: Page) -> None:
    page = overview
    field = page.get_by_role("combobox", name="Find")
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    # Closed as Escape does it, which is told a moment later; opened again in between.
    page.evaluate("""() => {
        document.querySelector('dialog[open]').close();
        const key = new KeyboardEvent('keydown', {key: 'k', ctrlKey: true, bubbles: true, cancelable: true});
        document.body.dispatchEvent(key);
    }""")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)


def test_nodes_queues_and_sub_clusters_come_from_the_server(overview: Page) -> None:
    page = overview
    page.get_by_role("button", name="Find").click()
    field = page.get_by_role("combobox", name="Find")
    field.fill("west")
    for name in ("west-1", "west-2"):
        expect(page.get_by_role("group", name="Nodes").get_by_role("option").filter(has_text=name)).to_have_count(1)
    expect(page.get_by_role("group", name="Sub-clusters").get_by_role("option")).to_contain_text("west")
    field.fill("root.default")
    expect(page.get_by_role("group", name="Queues").get_by_role("option")).to_contain_text("root.default")
    field.fill("<img src=x onerror=nobody()>")
    expect(page.get_by_role("status").filter(has_text="Nothing is called that")).to_be_visible()


def find(page: Page, typed: str) -> None:
    """Type it into the palette and take what is offered of the page one is at."""
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Find").fill(typed)
    expect(page.get_by_role("group", name="On this page").get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("combobox", name="Find")).to_have_count(0)


def test_it_offers_what_can_be_done_on_the_page_one_is_at(page: Page, site: Stack) -> None:
    group = {"name": "g", "count": 1, "command": ["sleep", "300"], "resources": {"memory_mib": 64, "vcores_milli": 100}}
    job = site.client("tenant").submit({"name": "at-hand", "groups": [group]}).id
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    page.goto(f"/jobs/{job}")
    page.get_by_role("button", name="Kill", exact=True).wait_for()
    page.get_by_role("link", name="Open a terminal").wait_for()  # it runs
    for typed, title in (("priority", f"Priority of job {job}"), ("move job", f"Move job {job}")):
        find(page, typed)
        asked = page.get_by_role("dialog", name=title)
        expect(asked).to_be_visible()
        page.keyboard.press("Escape")
        expect(asked).to_have_count(0)
    find(page, "terminal")
    expect(page.get_by_role("heading", name="Terminal in g/0")).to_be_visible()
    expect(page.get_by_role("button", name="Open", exact=True)).to_be_enabled()
    page.go_back()
    find(page, "kill")
    page.get_by_role("dialog", name=f"Kill job {job}?").get_by_role("button", name="Kill the job").click()
    expect(page.locator("h1 + [data-state]")).to_have_attribute("data-state", "KILLED")
    find(page, "again")
    expect(page.get_by_role("dialog", name=f"Run job {job} again?")).to_be_visible()
    (node,) = site.client("operator").nodes(name="west-1")
    page.goto(f"/fleet/nodes/{node.id}")
    page.get_by_role("button", name="Drain…").wait_for()
    find(page, "drain")
    expect(page.get_by_role("dialog", name="Drain: west-1")).to_be_visible()
    page.keyboard.press("Escape")
    find(page, "cordon")
    expect(page.get_by_role("dialog", name="Cordon: west-1")).to_be_visible()


def test_what_can_be_done_is_found_on_every_page(overview: Page, site: Stack) -> None:
    page, client = overview, site.client("tenant")
    group = {"name": "g", "count": 1, "command": ["sleep", "300"], "resources": {"memory_mib": 64, "vcores_milli": 100}}
    job = client.submit({"name": "from-afar", "groups": [group]}).id
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Find")
    field.fill("kill from-a")
    found = page.get_by_role("group", name="On jobs").get_by_role("option")
    expect(found).to_contain_text(f"Kill job {job}")
    assert barriers(page) == []
    found.click()
    asked = page.get_by_role("dialog", name=f"Kill job {job}?")
    asked.get_by_role("button", name="Cancel").click()
    expect(asked).to_have_count(0)
    page.reload()
    expect(page.get_by_role("button", name="Kill", exact=True)).to_be_visible()
    expect(asked).to_have_count(0)
    client.kill(job)
    client.wait(job)
    page.keyboard.press("Control+k")
    field.fill(f"kill {job}")
    expect(page.get_by_role("status").filter(has_text="There is no job for that now")).to_be_visible()
    field.fill("log out")
    expect(page.get_by_role("listbox").get_by_role("option")).to_have_text("Sign out")
    for _ in ("another page", "its own"):
        field.fill("change password")
        page.keyboard.press("Enter")
        expect(page.get_by_label("Present password")).to_be_focused()
        page.keyboard.press("Control+k")


def test_operators_find_what_can_be_done_with_nodes_on_every_page(page: Page, site: Stack) -> None:
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    page.goto("/jobs")
    page.get_by_role("heading", name="Jobs", level=1).wait_for()
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Find")
    field.fill("node west-2")
    expect(page.get_by_role("group", name="Nodes").get_by_role("option")).to_contain_text("west-2")
    field.fill("cordon node west-2")
    page.get_by_role("group", name="On nodes").get_by_role("option", name="Cordon: west-2").click()
    asked = page.get_by_role("dialog", name="Cordon: west-2")
    asked.get_by_role("button", name="Cancel").click()
    expect(asked).to_have_count(0)
    page.reload()
    expect(page.get_by_role("button", name="Cordon", exact=True)).to_be_visible()
    expect(asked).to_have_count(0)


def test_keys_lead_to_pages_but_not_while_somebody_types(overview: Page) -> None:
    page = overview
    page.keyboard.type("gj")
    expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible()
    page.keyboard.press("/")
    focused = page.locator("#main :focus")
    expect(focused).to_have_count(1)
    page.keyboard.type("go?")
    expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Find").fill("keys")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Keys")).to_be_visible()
    assert barriers(page) == []
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("heading", name="Keys")).to_have_count(0)


def test_a_phone_has_a_menu(overview: Page) -> None:
    page = overview
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Menu", exact=True).click()
    assert barriers(page) == []
    page.get_by_role("dialog", name="Menu").get_by_role("link", name="Jobs").click()
    expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
