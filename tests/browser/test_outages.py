"""The page through dropped sockets and restarts: it says what it does not know, and finds back by itself."""

import threading

from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from tests.browser.chromium import sign_in
from tests.patience import wait_until
from tests.stack import Stack

GROUP = {"name": "a", "count": 1, "command": ["true"], "resources": {"memory_mib": 64, "vcores_milli": 100}}


# A process may be back before anybody has looked at the page.
KEEP_WHAT_IS_SAID = """() => {
    window.said = []
    const indicator = document.querySelector("header [role=status]")
    const look = () => said.push(indicator.textContent)
    new MutationObserver(look).observe(indicator, { childList: true, characterData: true, subtree: true })
}"""


def submit(site: Stack, name: str) -> int:
    return int(site.client().submit({"name": name, "queue": "root.default", "groups": [GROUP]}).id)


def indicator(page: Page, word: str) -> Locator:
    """The header's sign of how live the page is."""
    return page.get_by_role("banner").get_by_role("status").get_by_text(word, exact=True)


def test_a_dropped_socket_recovers_and_converges(page: Page, site: Stack) -> None:
    routes: list[WebSocketRoute] = []
    dropped = threading.Event()

    def through(route: WebSocketRoute) -> None:
        routes.append(route)
        if dropped.is_set():
            route.close(code=1012)
        else:
            route.connect_to_server()

    page.route_web_socket("**/ws/v1", through)
    _sign_in(page, site)
    page.goto("/jobs")
    expect(indicator(page, "Live")).to_be_visible()
    dropped.set()
    routes[-1].close(code=1012)
    expect(indicator(page, "Reconnecting")).to_be_visible()
    job = submit(site, "while-away")
    dropped.clear()
    expect(page.get_by_role("row").filter(has_text=f"#{job}")).to_contain_text("Succeeded")
    expect(indicator(page, "Live")).to_be_visible()
    assert len(routes) >= 2


def test_the_apis_page_and_the_first_page_need_no_internet(page: Page, site: Stack) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/api/v1/docs")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("code", has_text="/api/v1/jobs/bulk").first).to_be_visible()
    page.goto("/login")
    expect(page.get_by_label("Password", exact=True)).to_be_visible()
    assert asked and not [url for url in asked if not url.startswith((site.url, "data:"))]


def test_without_any_socket_the_page_polls(page: Page, site: Stack) -> None:
    page.route_web_socket("**/ws/v1", lambda route: route.close(code=1011))
    _sign_in(page, site)
    page.goto("/jobs")
    job = submit(site, "polled")
    expect(page.get_by_role("row").filter(has_text=f"#{job}")).to_contain_text("Succeeded")
    expect(indicator(page, "Reconnecting")).to_be_visible()


def test_a_lost_snapshot_is_noticed_and_asked_for_again(page: Page, site: Stack) -> None:
    asked: list[str] = []
    lost: list[str] = []

    def lossy(route: WebSocketRoute) -> None:
        server = route.connect_to_server()

        def down(message: str | bytes) -> None:
            if '"topic":"jobs","seq":2,' in str(message):
                lost.append(str(message))
            else:
                route.send(message)

        def up(message: str | bytes) -> None:
            asked.append(str(message))
            server.send(message)

        server.on_message(down)
        route.on_message(up)

    page.route_web_socket("**/ws/v1", lossy)
    _sign_in(page, site)
    page.goto("/jobs")
    expect(indicator(page, "Live")).to_be_visible()
    expect(page.get_by_role("region", name="Jobs")).not_to_contain_text("Loading")
    for number in range(2):
        job = submit(site, f"lossy-{number}")
        expect(page.get_by_role("row").filter(has_text=f"#{job}")).to_contain_text("Succeeded")
    assert lost
    assert any("resync" in message for message in asked)


def test_a_killed_web_process_is_told_and_survived(page: Page, site: Stack) -> None:
    _sign_in(page, site)
    page.goto("/")
    expect(indicator(page, "Live")).to_be_visible()
    page.evaluate(KEEP_WHAT_IS_SAID)
    site.kill("web")
    wait_until(lambda: "Reconnecting" in page.evaluate("said.join()"), 40, "the page says that it reconnects")
    expect(indicator(page, "Live")).to_be_visible()
    expect(page.get_by_role("region", name="Sub-cluster west")).to_contain_text("Healthy")


def test_a_restarted_broker_does_not_end_the_socket(page: Page, site: Stack) -> None:
    opened: list[str] = []
    page.on("websocket", lambda socket: opened.append(socket.url))
    _sign_in(page, site)
    page.goto("/jobs")
    expect(indicator(page, "Live")).to_be_visible()
    before = len(opened)
    site.kill_and_wait("broker")
    job = submit(site, "after-the-broker")
    expect(page.get_by_role("row").filter(has_text=f"#{job}")).to_contain_text("Succeeded")
    assert len(opened) == before


def _sign_in(page: Page, site: Stack) -> None:
    sign_in(page, "tenant", site.home.secrets()["tenant_password"])
