"""A tenant's life with jobs in the browser: a form, a wait and its reason, logs that survive, views that are kept."""

import re
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.barriers import PHONE, barriers
from tests.browser.chromium import sign_in
from tests.patience import let_pass, wait_until
from tests.stack import Stack

SMALL = {"memory_mib": 64, "vcores_milli": 100}


def group(command: str, **more: Any) -> dict[str, Any]:
    return {"name": "work", "shell": True, "command": command, "resources": SMALL} | more


def submitted(site: Stack, **job: Any) -> int:
    spec = {"name": f"job-{uuid.uuid4().hex[:8]}", "queue": "root.default"} | job
    return int(site.client().submit(spec).id)


@pytest.fixture
def gate() -> Iterator[Path]:
    """A file that tasks see once it is there."""
    with tempfile.TemporaryDirectory(prefix="hydra-gate-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "open"


def in_small_pages(route: Route) -> None:
    """As the server answers when pages hold two."""
    route.continue_(url=route.request.url.replace("page_size=200", "page_size=2"))


def ended(page: Page, state: str) -> None:
    expect(page.locator("h1 + [data-state]")).to_have_attribute("data-state", state)


def test_a_form_and_the_file_are_one(signed_in: Page) -> None:
    name = f"formed-{uuid.uuid4().hex[:8]}"
    signed_in.goto("/submit")
    signed_in.get_by_label("Name", exact=True).fill("Not A Name")
    problems = signed_in.get_by_role("alert", name="Problems")
    expect(problems).to_contain_text("name (line 2, column 1)")
    signed_in.get_by_label("Name", exact=True).fill(name)
    signed_in.get_by_label("Tasks", exact=True).fill("three")
    expect(problems).to_have_text(re.compile("^(?!.*quotes).*is no whole number", re.DOTALL))
    signed_in.get_by_label("Tasks", exact=True).fill("2")
    signed_in.get_by_label("Command", exact=True).fill('echo "line of $HYDRA_TASK_INDEX"; echo result > out.txt')
    signed_in.get_by_label("Files it leaves behind").fill("result: out.txt")
    expect(signed_in.get_by_test_id("checked")).to_contain_text("The server would take it")
    expect(signed_in.get_by_test_id("outlook")).to_contain_text(re.compile("Would go to.*Would start", re.S))
    warnings = signed_in.get_by_role("status", name="Warnings")
    expect(warnings).to_have_count(0)
    signed_in.get_by_label("GPUs", exact=True).fill("40")
    expect(warnings).to_contain_text(
        re.compile(r"groups.0.resources.gpus \(group greet, line \d+, column \d+\)no node that it may use has GPUs")
    )
    expect(signed_in.get_by_test_id("outlook")).to_contain_text("It never starts as things are")
    signed_in.get_by_label("GPUs", exact=True).fill("0")
    expect(warnings).to_have_count(0)
    with signed_in.expect_download() as saved:
        signed_in.get_by_role("button", name="Save as job.yaml").click()
    signed_in.get_by_text("Text", exact=True).click()
    text = signed_in.get_by_role("textbox", name="Job file")
    expect(text).to_have_value(re.compile(rf"# A job.*name: {name}.*count: 2", re.S))
    assert saved.value.path().read_text() == text.input_value()
    text.fill(text.input_value().replace("count: 2", "count: 3"))
    signed_in.get_by_text("Form", exact=True).click()
    expect(signed_in.get_by_label("Tasks", exact=True)).to_have_value("3")
    signed_in.get_by_role("heading", name="Submit a job").click()  # no field has the focus
    signed_in.keyboard.press("Control+Enter")
    signed_in.wait_for_url(re.compile(r"/jobs/\d+$"))
    ended(signed_in, "SUCCEEDED")
    expect(signed_in.get_by_test_id("log")).to_contain_text("line of")
    expect(signed_in.get_by_role("heading", name="What happened").locator("..")).to_contain_text(
        re.compile("Submitted.*Routed.*Succeeded", re.S)
    )
    signed_in.get_by_text("Files", exact=True).click()
    downloads = signed_in.get_by_role("link", name="Download out.txt of greet")
    expect(downloads).to_have_count(3)
    signed_in.route("**/outputs?*", in_small_pages)
    signed_in.reload()
    files = signed_in.get_by_role("region", name="Result files")
    expect(files).to_contain_text("The first 2 files; there are more.")
    files.get_by_role("button", name="Show more").click()
    expect(downloads).to_have_count(3)
    expect(files.get_by_role("button", name="Show more")).to_have_count(0)


def test_a_job_that_waits_says_why_moves_up_and_is_submitted_again(signed_in: Page, site: Stack) -> None:
    job = submitted(site, groups=[group("true", resources={"memory_mib": 900_000, "vcores_milli": 100})])
    signed_in.goto(f"/jobs/{job}")
    waiting = signed_in.get_by_test_id("waiting")
    expect(waiting).to_contain_text(re.compile(r"\d"))
    expect(waiting).to_contain_text(f"hydractl explain {job}")
    expect(waiting.get_by_role("link").first).to_have_attribute("href", re.compile("^/(fleet|queues)"))
    signed_in.get_by_role("button", name="Priority", exact=True).click()
    dialog = signed_in.get_by_role("dialog")
    dialog.get_by_label("Priority", exact=True).fill("7")
    expect(dialog).to_contain_text(f"hydractl priority {job} 7")
    dialog.get_by_role("button", name="Change").click()
    expect(signed_in.locator(".facts")).to_contain_text("Priority7")
    signed_in.get_by_role("link", name="Edit and submit").click()
    signed_in.get_by_label("Memory, MiB", exact=True).fill("64")
    signed_in.get_by_role("button", name="Submit", exact=True).click()
    signed_in.wait_for_url(re.compile(r"/jobs/\d+$"))
    ended(signed_in, "SUCCEEDED")
    site.client().kill(job)


def test_a_log_goes_on_where_it_broke_off(signed_in: Page, site: Stack, gate: Path) -> None:
    wait = f"[ $i -lt 4 ] || until [ -e {gate} ]; do echo more; sleep 0.2; done"
    job = submitted(site, groups=[group(f"for i in $(seq 1 40); do echo mark-$i; {wait}; done")])
    signed_in.goto(f"/jobs/{job}")
    log = signed_in.get_by_test_id("log")
    expect(log).to_contain_text("mark-3")
    broken: list[str] = []

    def cut(route: Route) -> None:
        broken.append(route.request.url)
        route.abort()

    signed_in.route(re.compile("/logs"), cut)
    expect(signed_in.locator("[data-phase=reconnecting]")).to_be_visible()
    gate.touch()
    signed_in.unroute(re.compile("/logs"))
    ended(signed_in, "SUCCEEDED")
    signed_in.get_by_label("Find in the log").fill("mark-")
    expect(signed_in.locator(".logs-bar")).to_contain_text("1 of 40")  # none lost, none doubled
    assert broken and all("cursor=" in url for url in broken)
    signed_in.get_by_role("button", name="Pause").click()
    expect(signed_in.locator("[data-phase]")).to_contain_text("Paused")


def test_logs_of_all_tasks_stand_under_their_names(signed_in: Page, site: Stack) -> None:
    fail = "for i in $(seq 30); do echo gone-$i >&2; done; exit 3"
    say = f"echo out-$HYDRA_TASK_INDEX; [ $HYDRA_TASK_INDEX = 0 ] || {{ {fail}; }}; sleep 60"
    job = submitted(site, groups=[group(say, count=2, retries=0)])
    signed_in.goto(f"/jobs/{job}")
    ended(signed_in, "FAILED")
    signed_in.get_by_text("Logs of all").click()
    logs = signed_in.locator(".task-log")
    expect(logs.first).to_contain_text("/1")
    expect(logs.first.locator("[data-stderr]")).to_have_count(20)
    expect(logs.nth(1)).to_contain_text("out-0")
    signed_in.get_by_label("Lines of each task").select_option("100")
    expect(logs.first.locator("[data-stderr]")).to_have_count(30)
    signed_in.get_by_label("Find in these logs").fill("GONE-1")
    found = signed_in.locator(".finds")
    expect(found).to_contain_text("1 of 11")
    expect(logs.first.locator("mark")).to_have_count(11)
    expect(logs.nth(1)).to_contain_text("nothing found")
    signed_in.get_by_role("button", name="Previous match").click()
    expect(logs.first.locator("[data-hit]")).to_have_text("gone-19")
    signed_in.get_by_label("Find in these logs").fill("-0")
    expect(logs.nth(1).locator("[data-hit]")).to_be_in_viewport()
    signed_in.get_by_label("Lines of each task").select_option("20")
    signed_in.get_by_label("Find in these logs").fill("GONE-3")
    expect(found).to_contain_text("1 of 1")  # of the last lines, which do not have the other
    signed_in.get_by_role("button", name="Find in all that the job has written").click()
    whole = signed_in.get_by_label("Found in all that the job has written")
    expect(whole.get_by_role("status")).to_contain_text("2 lines")
    expect(whole.get_by_role("listitem").locator("code")).to_have_text(["gone-3", "gone-30"])
    whole.get_by_role("link").last.click()
    expect(signed_in.get_by_label("Find in the log")).to_have_value("GONE-3")
    expect(signed_in.locator(".logs-bar")).to_contain_text("2 of 2")
    signed_in.go_back()
    expect(whole.get_by_role("listitem")).to_have_count(2)
    whole.get_by_role("link").first.click()
    expect(signed_in.get_by_test_id("log")).to_contain_text("gone-30")


def test_the_list_has_the_columns_and_the_order_that_are_chosen(signed_in: Page, site: Stack) -> None:
    tag = "looked-at"
    low, high = (submitted(site, tags=[tag], priority=priority, groups=[group("sleep 300")]) for priority in (1, 9))
    signed_in.goto(f"/jobs?tag={tag}")
    links = signed_in.locator(".job-name a")
    expect(links).to_have_count(2)
    signed_in.get_by_role("button", name="Columns").click()
    signed_in.get_by_label("Priority").check()
    signed_in.get_by_label("Owner", exact=True).and_(signed_in.locator("[type=checkbox]")).uncheck()
    expect(signed_in.get_by_role("columnheader", name="Owner")).to_have_count(0)
    heads = signed_in.get_by_role("columnheader", name="Priority")
    heads.get_by_role("button").click()
    expect(heads).to_have_attribute("aria-sort", "ascending")
    expect(links.first).to_have_attribute("href", f"/jobs/{low}")
    signed_in.get_by_label("Sort this page").select_option("-priority")
    expect(links.first).to_have_attribute("href", f"/jobs/{high}")
    expect(signed_in).to_have_url(re.compile(r"columns=state,tasks,queue,priority,submitted,took&sort=-priority"))
    assert barriers(signed_in) == []
    wait_until(lambda: site.client().job(high).groups[0].running == 1, 60, "it runs")
    node = next(task.node for task in site.client().tasks(high))
    signed_in.goto(f"/jobs?tag={tag}&node={node}")
    expect(signed_in.get_by_role("columnheader", name="Priority")).to_be_visible()
    expect(signed_in.locator(f'.job-name a[href="/jobs/{high}"]')).to_be_visible()
    signed_in.get_by_label("On node now").fill("none")
    expect(signed_in.get_by_text("No job matches these filters")).to_be_visible()
    site.client().kill(low)
    site.client().kill(high)


def test_a_log_is_linked_to(signed_in: Page, site: Stack) -> None:
    speak = group("echo out-$HYDRA_TASK_INDEX; echo err-$HYDRA_TASK_INDEX >&2", count=205)
    job = submitted(site, groups=[speak])
    signed_in.goto(f"/jobs/{job}")
    ended(signed_in, "SUCCEEDED")
    signed_in.get_by_role("button", name=re.compile("^work 3:")).click()
    signed_in.wait_for_url(re.compile("task=work%2F3"))
    log = signed_in.get_by_test_id("log")
    expect(log).to_contain_text("out-3")  # both streams, and which is which
    expect(log.locator("[data-stderr]")).to_contain_text("err-3")
    signed_in.get_by_role("radiogroup", name="Stream").get_by_text("stderr").click()
    expect(log).not_to_contain_text("out-3")
    expect(log).to_contain_text("err-3")
    signed_in.get_by_role("link", name="Link to this log").click()
    signed_in.wait_for_url(re.compile("attempt="))
    other = signed_in.context.new_page()
    other.goto(signed_in.url)
    expect(other.get_by_role("region", name="Task work/3")).to_be_visible()
    expect(other.get_by_test_id("log")).to_contain_text("err-3")
    other.goto(f"/jobs/{job}?task=work/204&stream=stderr")  # further on than the page lists
    expect(other.get_by_test_id("log")).to_contain_text("err-204")
    other.goto(f"/jobs/{job}?task=work/7&shape=table&state=SUCCEEDED")
    expect(other.get_by_role("table", name="Tasks")).to_be_visible()
    expect(other.get_by_label("Task state")).to_have_value("SUCCEEDED")
    expect(other.get_by_test_id("log")).to_contain_text("out-7")
    assert barriers(other) == []


def test_a_queue_is_found_by_typing(signed_in: Page) -> None:
    signed_in.goto("/submit")
    queue = signed_in.get_by_role("combobox", name="Queue", exact=True)
    expect(queue).to_have_value("root.default")
    queue.press("ArrowDown")
    found = signed_in.get_by_role("listbox", name="Queue")
    expect(found.get_by_role("option", name="root.default")).to_be_visible()
    queue.press_sequentially("no such")
    expect(signed_in.get_by_text("Nothing is called that.")).to_be_visible()
    queue.press("Escape")
    expect(found).to_have_count(0)
    expect(queue).to_have_value("root.default")
    queue.press_sequentially("DEFAULT")
    expect(signed_in.get_by_role("status").filter(has_text="1 found")).to_be_visible()
    expect(queue).to_have_attribute("aria-activedescendant", re.compile("."))
    assert barriers(signed_in) == []
    queue.press("Enter")
    expect(found).to_have_count(0)
    expect(queue).to_have_value("root.default")
    signed_in.route(re.compile("/api/v1/queues"), lambda route: route.abort())
    queue.fill("root.x")
    expect(signed_in.get_by_text("It could not be searched")).to_be_visible()


def test_attempts_are_drawn_listed_and_measured(signed_in: Page, site: Stack) -> None:
    job = submitted(
        site,
        groups=[
            group('test "$HYDRA_TASK_INDEX" != 1 || { echo because-$HYDRA_ATTEMPT >&2; exit 3; }', count=6, retries=1)
        ],
    )
    signed_in.goto(f"/jobs/{job}?tab=attempts")
    ended(signed_in, "FAILED")
    chart = signed_in.get_by_test_id("gantt")
    expect(chart).to_have_attribute("data-bars", "7")
    signed_in.get_by_role("button", name="Zoom in").click()
    signed_in.wait_for_url(re.compile(r"zoom=\d+-\d+"))
    signed_in.reload()
    expect(signed_in.get_by_role("button", name="All of it")).to_be_enabled()
    signed_in.get_by_text("Table", exact=True).click()
    rows = signed_in.get_by_role("table", name="Attempts").get_by_role("row")
    expect(rows).to_have_count(8)
    expect(rows.filter(has_text="Failed").first).to_contain_text("3")
    signed_in.get_by_role("radiogroup", name="Parts of the job").get_by_text("Usage").click()
    expect(signed_in.get_by_role("region", name="Used against asked for")).to_contain_text("64 MiB")
    signed_in.goto(f"/jobs/{job}?task=work/1")
    expect(signed_in.get_by_test_id("log")).to_contain_text("because-2")
    signed_in.get_by_label("Attempt", exact=True).select_option(label="Attempt 1: failed")
    expect(signed_in.get_by_test_id("log")).to_contain_text("because-1")


def test_a_view_is_kept_and_many_jobs_are_killed_at_once(signed_in: Page, site: Stack) -> None:
    tag, view = f"t{uuid.uuid4().hex[:8]}", f"<b>mine {uuid.uuid4().hex[:4]}</b>"
    jobs = [submitted(site, tags=[tag], groups=[group("sleep 300")]) for _ in range(3)]
    signed_in.goto(f"/jobs?tag={tag}")
    signed_in.get_by_role("button", name="Save this view").click()
    signed_in.get_by_label("Name", exact=True).last.fill(view)
    signed_in.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()
    expect(signed_in.get_by_role("dialog")).to_have_count(0)  # it is kept by now
    signed_in.goto("/jobs")
    signed_in.get_by_role("link", name=view).click()
    signed_in.wait_for_url(f"**/jobs?tag={tag}")
    signed_in.get_by_label(f"Choose job {jobs[0]}").check()
    signed_in.get_by_label(f"Choose job {jobs[1]}").check()
    signed_in.get_by_role("toolbar", name="Chosen jobs").get_by_role("button", name="Kill", exact=True).click()
    dialog = signed_in.get_by_role("dialog", name="Kill 2 jobs?")
    expect(dialog).to_contain_text("hydractl kill")
    dialog.get_by_role("button", name="Kill", exact=True).click()
    for job in jobs[:2]:
        row = signed_in.get_by_role("row").filter(has_text=f"#{job}")
        expect(row.locator("[data-state]")).to_have_attribute("data-state", "KILLED")
    left = signed_in.get_by_role("row").filter(has_text=f"#{jobs[2]}")
    expect(left.locator("[data-state]")).not_to_have_attribute("data-state", "KILLED")
    signed_in.get_by_role("button", name="Forget this view").click()
    forget = signed_in.get_by_role("dialog")
    expect(forget).to_contain_text(f"hydractl views delete '{view}'")
    forget.get_by_role("button", name="Forget", exact=True).click()
    expect(signed_in.get_by_role("link", name=view)).to_have_count(0)
    site.client().kill(jobs[2])


def test_pages_of_the_list_stand_in_the_address(signed_in: Page, site: Stack) -> None:
    tag = f"t{uuid.uuid4().hex[:8]}"
    spec = {"queue": "root.default", "tags": [tag], "groups": [group("true", count=1)]}
    ids = site.client().submit_many([spec | {"name": f"page-{n}"} for n in range(60)])
    signed_in.goto(f"/jobs?tag={tag}")
    expect(signed_in.get_by_text(f"#{ids[-1]}")).to_be_visible()
    signed_in.get_by_role("button", name="Older").click()
    signed_in.wait_for_url(re.compile("cursor="))
    expect(signed_in.get_by_text(f"#{ids[0]}", exact=True)).to_be_visible()
    signed_in.reload()
    expect(signed_in.get_by_text(f"#{ids[0]}", exact=True)).to_be_visible()
    signed_in.get_by_role("button", name="Newer").click()
    expect(signed_in.get_by_text(f"#{ids[-1]}")).to_be_visible()


def test_nothing_of_it_shuts_anybody_out(page: Page, site: Stack) -> None:
    sign_in(page, "tenant", site.home.secrets()["tenant_password"])
    done = submitted(site, groups=[group("echo one; echo two", count=4)])
    site.client().wait(done)
    stuck = submitted(site, groups=[group("true", resources={"memory_mib": 900_000, "vcores_milli": 100})])
    places = {
        "/jobs?state=ended": "Jobs", f"/jobs/{stuck}": "Why it waits", f"/jobs/{done}?tab=tasks": "Task groups",
        f"/jobs/{done}?tab=attempts": "Attempts", f"/jobs/{done}?tab=attempts&shape=table": "Attempts",
        f"/jobs/{done}?tab=usage": "Used against asked for", f"/jobs/{done}?tab=events": "Events",
        "/submit": "Submit a job", "/submit?view=text": "Submit a job",
    }  # fmt: skip
    found = {}
    for place, heading in places.items():
        page.goto(place)
        page.get_by_role("heading", name=heading, exact=True).first.wait_for()
        page.wait_for_load_state("networkidle", timeout=5_000) if "submit" in place else let_pass(0.3)
        if faults := barriers(page):
            found[place] = faults
    site.client().kill(stuck)
    assert found == {}


WHOLE = """card => {
    const name = card.querySelector("b");
    return name.scrollWidth <= name.clientWidth && card.offsetHeight <= card.parentElement.offsetHeight;
}"""


def test_names_of_groups_are_shown_whole(signed_in: Page, site: Stack) -> None:
    first, last = "whatever-comes-first-and-has-the-longest-name-that-groups-may-have"[:63], "w" * 63
    job = submitted(site, groups=[group("true", name=first), group("exit 3", name=last, after=[first])])
    signed_in.goto(f"/jobs/{job}")
    ended(signed_in, "FAILED")
    wide = signed_in.viewport_size
    for size in (wide, PHONE):
        signed_in.set_viewport_size(size or PHONE)
        for name in (first, last):
            card = signed_in.get_by_test_id(f"group-{name}")
            wait_until(lambda card=card: card.evaluate(WHOLE), 20, "the card holds the name")
    assert barriers(signed_in) == []


def test_the_first_filter_keeps_the_keyboard(signed_in: Page) -> None:
    """Whoever types on with a pause types into the field, and not into the keys of the page."""
    signed_in.goto("/jobs")
    name = signed_in.get_by_role("textbox", name="Name", exact=True)
    name.press_sequentially("agp", delay=600)
    expect(name).to_be_focused()
    expect(name).to_have_value("agp")
    expect(signed_in).to_have_url(re.compile(r"/jobs\?.*name=agp"))
    name.press("Control+a")
    name.press_sequentially("jg", delay=600)
    expect(signed_in).to_have_url(re.compile(r"/jobs\?.*name=jg"))
