"""What a policy would have done, asked in the browser: followed, called off, read, found again with its version."""

import contextlib
import datetime as dt
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, FilePayload, Locator, Page, expect

from client import Client
from client.answers import to_json
from client.errors import HydraError
from tests.browser.barriers import barriers, barriers_on_a_phone
from tests.browser.chromium import sign_in
from tests.browser.commands import Shown, mistake
from tests.browser.conftest import WAIT_MS
from tests.browser.test_policy import DOCUMENT, edit, to_plan
from tests.patience import wait_until
from tests.stack import Stack

pytestmark = pytest.mark.timeout(900)
DONE_MS = 400_000  # runners give way to everything else
SIMULATION = re.compile(r"^Simulation \d+$")


@pytest.fixture(scope="module")
def operator(site: Stack) -> Iterator[Client]:
    """The SDK as the operator; jobs of two queues have stood in one another's way under the policy of these tests."""
    client = site.client("operator")
    before = client.policy().document or {}
    client.push_policy(DOCUMENT, "for tests", force=True)
    tenant = site.client("tenant")
    resources = {"memory_mib": 64, "vcores_milli": 2000}
    group = {"name": "g", "count": 1, "command": ["sleep", "0.2"], "resources": resources}
    jobs = [
        tenant.submit({"name": "past", "queue": f"root.{queue}", "groups": [group]}).id
        for queue in ("default", "ads") * 6
    ]
    wait_until(lambda: all(tenant.job(job).finished_at for job in jobs), 120, "all jobs have ended", 0.5)
    yield client
    for asked in client.simulations():
        if not asked.ended:
            client.cancel_simulation(asked.id)
    client.push_policy(before, "as before the test", force=True)


@pytest.fixture
def tab(page: Page, site: Stack, operator: Client) -> Page:
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    return page


@pytest.fixture(scope="module")
def answered(operator: Client) -> int:
    """The number of a simulation that has an answer."""
    queues = DOCUMENT["queues"] | {"ads": {"guaranteed": 0.05, "open_to_all": True}}
    asked = operator.request_simulation(document={"queues": queues}, seeds=1)
    assert operator.wait_simulation(asked.id).state == "done"
    return asked.id


def simulate(card: Locator) -> None:
    card.get_by_role("button", name="Simulate", exact=True).click()


def answer(where: Locator) -> None:
    """There is one, and it says what it has to."""
    expect(where.get_by_role("link", name="Open the whole report")).to_be_visible(timeout=DONE_MS)
    main = where.get_by_role("table", name="Figures over all queues")
    expect(main.get_by_role("row", name=re.compile("^Wait, mean"))).to_be_visible()
    for title in (re.compile(r"Version \d+, in force"), "Change, and its 95 % interval"):
        expect(main.get_by_role("columnheader", name=title)).to_be_visible()
    queues = where.get_by_role("table", name="Change by queue")
    for title in ("Wait, mean", "Turnaround, mean", "Share held", "Preempted containers"):
        expect(queues.get_by_role("columnheader", name=title)).to_be_visible()
    for queue in ("root.ads", "root.default"):
        expect(queues.get_by_role("row", name=queue)).to_contain_text("→")
    expect(where.get_by_role("table", name="Change by user").get_by_role("row", name="tenant")).to_contain_text("→")


def test_asked_before_a_push_followed_read_and_found_with_the_version(tab: Page, operator: Client) -> None:
    edit(tab, "ads", "15%")
    to_plan(tab)
    card = tab.get_by_role("region", name="What would it have done?")
    simulate(card)
    expect(card.get_by_role("progressbar", name=SIMULATION)).to_be_visible()
    expect(card.get_by_role("status").filter(has_text=re.compile(r"^Simulation \d+ "))).to_have_count(1)
    expect(card.get_by_role("button", name="Simulate", exact=True)).to_have_count(0)
    answer(card)
    expect(card.get_by_role("status").filter(has_text=re.compile(r"^Simulation \d+ is done$"))).to_have_count(1)
    card.get_by_role("region", name="By queue").get_by_text("Preemptions", exact=True).click()
    expect(card.get_by_text("Drawn: the change of preemptions")).to_be_visible()
    card.get_by_text(re.compile("what is assumed")).click()
    expect(card.get_by_text(re.compile("Of every seed but the first the jobs are drawn anew"))).to_be_visible()
    tab.reload()
    answer(card)
    with tab.expect_popup() as opened:
        card.get_by_role("link", name="Open the whole report").click()
    expect(opened.value.get_by_role("heading", name="What proposed would have done")).to_be_visible()
    opened.value.close()
    number = int((card.get_by_role("link", name=SIMULATION).inner_text()).split()[1])
    edit(tab, "ads", "14%")
    tab.go_back()
    expect(tab.get_by_role("region", name="What changes")).to_contain_text("root.ads guaranteed 20 % -> 14 %")
    expect(card.get_by_role("button", name="Simulate", exact=True)).to_be_visible()
    expect(card.get_by_role("table")).to_have_count(0)
    edit(tab, "ads", "15%")
    to_plan(tab)
    tab.get_by_label("What changes, and why").fill("as simulated")
    tab.get_by_role("button", name="Push to all").click()
    expect(tab.get_by_role("table", name="Convergence")).to_be_visible()
    version = operator.policy().version
    tab.get_by_role("link", name="History").click()
    tab.get_by_role("button", name=f"What would version {version} have done?").click()
    of_version = tab.get_by_role("region", name=f"Simulations of version {version}")
    of_version.get_by_role("link", name=f"Simulation {number}").click()
    one = tab.get_by_role("region", name=f"Simulation {number}", exact=True)
    answer(one)
    one.get_by_text("What changes from version").click()
    expect(one).to_contain_text("root.ads guaranteed 20 % -> 15 %")
    expect(tab.get_by_role("region", name=re.compile("in use over time$"))).to_be_visible()


def test_jobs_of_a_renamed_queue_go_where_it_is_said(tab: Page, operator: Client) -> None:
    queues = {name: queue for name, queue in DOCUMENT["queues"].items() if name != "ads"}
    queues["media"] = {"guaranteed": 0.2, "open_to_all": True, "children": {"ads": {}, "films": {}}}
    renames = operator.push_policy({"queues": queues}, "renames", force=True).policy
    assert renames is not None
    version = renames.version
    operator.push_policy(DOCUMENT, "back again", force=True)
    tab.goto(f"/policy/history?version={version}")
    card = tab.get_by_role("region", name=f"What would version {version} have done?")
    to = card.get_by_role("combobox", name="Where jobs of root.ads go")
    expect(to).to_have_value("root.media.ads")
    to.fill("root.media.news")
    card.get_by_role("spinbutton", name="Seeds").fill("1")
    simulate(card)
    expect(card.get_by_role("alert")).to_contain_text("there is no leaf 'root.media.news'")
    to.fill("root.media.films")
    expect(card.get_by_text("--queue root.ads=root.media.films")).to_be_visible()
    simulate(card)
    table = card.get_by_role("table", name="Change by queue")
    expect(table.get_by_role("row", name="root.ads → root.media.films")).to_be_visible(timeout=DONE_MS)
    card.get_by_text(re.compile("what is assumed")).click()
    expect(card.get_by_text(re.compile(r"jobs go, as asked, from root\.ads to root\.media\.films"))).to_be_visible()
    card.get_by_role("link", name=SIMULATION).click()
    one = tab.get_by_role("region", name=SIMULATION)
    expect(one).to_contain_text("from root.ads to root.media.films")


def log(*lines: str) -> FilePayload:
    return FilePayload(name="lab.swf", mimeType="text/plain", buffer="\n".join(lines).encode())


def test_a_trace_is_handed_in_and_simulated(tab: Page, operator: Client) -> None:
    tab.goto(f"/policy/history?version={operator.policy().version - 1}")
    card = tab.get_by_role("region", name=re.compile("^What would version"))
    card.get_by_text("A trace…").click()
    simulate(card)
    expect(card.get_by_role("alert")).to_contain_text("trace is missing")
    card.get_by_label("It is").select_option("SWF log")
    lines = [f"{n} {5 * n} -1 20 1 -1 -1 1 30 -1 1 {n % 2} 1 -1 1 -1 -1 -1" for n in range(12)]
    file = card.get_by_label("File", exact=True)
    file.set_input_files(files=[log("; MaxProcs: 2", "1 2 3")])
    simulate(card)
    expect(card.get_by_role("alert")).to_contain_text("line 2, field 4 (run time): the line has 3 fields")
    file.set_input_files(files=[log("; MaxProcs: 2", *lines)])
    card.get_by_label("On the trace's own nodes").check()
    card.get_by_role("spinbutton", name="Seeds").fill("1")
    simulate(card)
    expect(card.get_by_text("the trace lab.swf")).to_be_visible()
    users = card.get_by_role("table", name="Change by user")
    expect(users.get_by_role("row", name="u1")).to_contain_text("→", timeout=DONE_MS)
    card.get_by_text(re.compile("what is assumed")).click()
    expect(card.get_by_text("The 2 nodes are the trace's own")).to_be_visible()
    card.get_by_text("A trace…").click()
    expect(card.get_by_label("Trace", exact=True).get_by_role("option", name="lab.swf, 12 jobs")).to_have_count(1)


def test_what_would_wait_if_a_sub_cluster_were_drained(tab: Page, operator: Client, site: Stack) -> None:
    tenant = site.client("tenant")
    group = {"name": "g", "count": 2, "command": ["sleep", "600"], "resources": {"memory_mib": 64, "vcores_milli": 10}}
    job = tenant.submit({"name": "long", "queue": "root.default", "groups": [group | {"estimated_duration_s": 300}]})
    wait_until(lambda: tenant.job(job.id).groups[0].running == 2, 60, "it runs")
    tab.goto("/")
    tab.get_by_role("button", name="Drain sub-cluster…").first.click()
    dialog = tab.get_by_role("dialog")
    dialog.get_by_label("What still runs then is stopped").select_option("In 10 minutes")
    dialog.get_by_role("button", name="Simulate the next 1 h 10 min").click()
    one = tab.get_by_role("region", name=SIMULATION)
    expect(one.get_by_role("heading", name=re.compile(r"(east|west) drained, against as it is"))).to_be_visible()
    found = one.get_by_role("region", name="What the drain changes")
    expect(found).to_contain_text(re.compile("(east|west) is empty"), timeout=DONE_MS)
    expect(found).to_contain_text("Runs there now")
    expect(found).to_contain_text("Lost by what is stopped after")
    expect(one.get_by_role("link", name="Open the whole report")).to_be_visible()
    assert {sub.state for sub in operator.sub_clusters()} == {"running"}, "asking drains nothing"
    expect(tab.get_by_role("table", name="Simulations").get_by_role("row").nth(1)).to_contain_text("drained")
    tenant.kill(job.id)


def test_called_off_while_it_waits_or_runs(tab: Page, operator: Client) -> None:
    version = operator.policy().version
    others = [operator.request_simulation(version=version, window="week", seeds=10).id for _ in range(2)]
    tab.goto(f"/policy/history?version={version - 1}")
    card = tab.get_by_role("region", name=f"What would version {version - 1} have done?")
    simulate(card)
    bar = card.get_by_role("progressbar", name=SIMULATION)
    expect(bar).to_be_visible()
    listed = tab.get_by_role("region", name=f"Simulations of version {version - 1}")
    expect(listed.get_by_role("progressbar").first).to_be_visible()
    card.get_by_role("button", name="Cancel", exact=True).click()
    expect(card.get_by_text("It was cancelled, so there is no answer.")).to_be_visible()
    expect(card.get_by_role("button", name="Simulate again")).to_be_visible()
    expect(listed.get_by_role("row").nth(1)).to_contain_text("Cancelled")
    for number in others:
        with contextlib.suppress(HydraError):  # it has ended by itself
            operator.cancel_simulation(number)


def test_what_is_wrong_names_its_field(tab: Page, operator: Client, shown: Shown) -> None:
    tab.goto(f"/policy/history?version={operator.policy().version - 1}")
    card = tab.get_by_role("region", name=re.compile("^What would version"))
    card.get_by_text("From, to…").click()
    card.get_by_role("spinbutton", name="Seeds").fill("0")
    card.get_by_label("To", exact=True).fill("2020-01-01T00:00")
    simulate(card)
    expect(card.get_by_role("alert")).to_contain_text("seeds is not a whole number from 1 to 10")
    expect(card.get_by_role("alert")).to_contain_text("to does not lie after from")
    expect(card.get_by_role("spinbutton", name="Seeds")).to_have_attribute("aria-invalid", "true")
    seedless = [text for text in shown.texts if text.endswith("--seeds 0")]
    assert seedless and all("BadParameter" in mistake(text) for text in seedless), "hydractl says the same"
    shown.forget(seedless)
    card.get_by_role("spinbutton", name="Seeds").fill("1")
    ahead = dt.datetime.now().astimezone() + dt.timedelta(hours=2)
    card.get_by_label("To", exact=True).fill(ahead.strftime("%Y-%m-%dT%H:%M"))
    simulate(card)
    expect(card.get_by_role("alert")).to_contain_text("to lies in the future")
    card.get_by_label("From", exact=True).fill("2020-01-01T00:00")
    card.get_by_label("To", exact=True).fill("2020-01-02T00:00")
    simulate(card)
    expect(card.get_by_role("alert")).to_contain_text("from when on history is kept")
    tab.goto("/policy/simulations/999999999")
    expect(tab.get_by_role("alert")).to_contain_text("there is no simulation 999999999")
    tab.goto("/policy/simulations/none")
    expect(tab.get_by_text("There is no such simulation")).to_be_visible()


def test_why_there_is_no_answer_is_told(tab: Page, operator: Client) -> None:
    now = dt.datetime.now(dt.UTC)
    asked = operator.request_simulation(
        version=operator.policy().version, begin=now - dt.timedelta(days=3), end=now - dt.timedelta(days=2)
    )
    assert operator.wait_simulation(asked.id).state == "failed"
    tab.goto(f"/policy/simulations/{asked.id}")
    expect(tab.get_by_role("alert")).to_contain_text("no job ran in this window")
    expect(tab.get_by_role("table", name="Simulations")).to_contain_text("no job ran in this window")


def test_it_is_asked_and_called_off_by_keyboard(tab: Page, operator: Client) -> None:
    tab.goto(f"/policy/history?version={operator.policy().version - 1}")
    card = tab.get_by_role("region", name=re.compile("^What would version"))
    card.get_by_role("spinbutton", name="Seeds").focus()
    tab.keyboard.press("Enter")
    expect(card.get_by_role("progressbar", name=SIMULATION)).to_be_visible()
    tab.keyboard.press("Tab")
    expect(card.get_by_role("button", name="Cancel", exact=True)).to_be_focused()
    tab.keyboard.press("Enter")
    expect(card.get_by_text("It was cancelled, so there is no answer.")).to_be_visible()


HIDE = """hidden => {
    Object.defineProperty(document, 'visibilityState', {value: hidden ? 'hidden' : 'visible', configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));
}"""


def test_it_is_looked_at_every_second_while_it_lives_and_is_seen(tab: Page, operator: Client, answered: int) -> None:
    over = to_json(operator.simulation(answered))
    now = over | {"state": "running", "progress": 0.3, "simulated_s": 900.0, "result": None, "ended_at": None}
    looks: list[str] = []

    def look(route: Any) -> None:
        looks.append(now["state"])
        route.fulfill(json=now)

    def pass_seconds(count: int) -> int:
        """Looks in that time; the clock is the test's, so nothing else passes."""
        before = len(looks)
        for _ in range(count):
            tab.clock.run_for(1_000)
            expect(card.get_by_text(text)).to_be_visible()
        return len(looks) - before

    tab.route(f"**/api/v1/simulations/{answered}", look)
    tab.clock.install()
    tab.goto(f"/policy/simulations/{answered}")
    card, text = tab.get_by_role("region", name=f"Simulation {answered}", exact=True), "Simulated 15 min of 1 h"
    expect(card.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "30")
    assert pass_seconds(6) >= 3
    tab.evaluate(HIDE, True)
    pass_seconds(1)
    assert pass_seconds(6) == 0
    tab.evaluate(HIDE, False)
    assert pass_seconds(6) >= 3
    now |= over
    tab.clock.run_for(2_000)
    answer(card)
    text = "Clear is what a 95 % interval"
    assert pass_seconds(6) == 0


def test_nothing_keeps_anybody_from_reading_it(browser: Browser, site: Stack, operator: Client, answered: int) -> None:
    context = browser.new_context(base_url=site.url)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    wrong = {}
    parts = [f"simulations/{answered}", f"history?version={operator.policy().version - 1}&simulation={answered}"]
    for part in parts:
        page.goto(f"/policy/{part}")
        answer(page.locator("#main"))
        page.get_by_text(re.compile("what is assumed")).click()
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        if found := barriers(page) + barriers_on_a_phone(page):
            wrong[part] = found
    context.close()
    assert not wrong
