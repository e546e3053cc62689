"""What a tenant does in the browser, from signing in to holding a result."""

import re
import uuid
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.chromium import sign_in
from tests.stack import Stack

JOB = """
name: {name}
queue: root.default
groups:
  - name: greet
    count: 3
    shell: true
    command: |
      for i in 1 2 3 4 5 6; do echo "line $i of task $HYDRA_TASK_INDEX"; sleep 0.3; done
      echo "hello from $HYDRA_TASK_INDEX" > greeting.txt
    resources: {{memory_mib: 64, vcores_milli: 100}}
    outputs:
      - {{name: greeting, path: greeting.txt}}
  - name: after
    count: 1
    command: ["true"]
    after: [greet]
    resources: {{memory_mib: 64, vcores_milli: 100}}
"""


def submit(page: Page, text: str) -> int:
    """Submit through the form; the number of the job whose page then opens."""
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Submit").click()
    page.get_by_text("Text", exact=True).click()
    page.get_by_label("Job file", exact=True).and_(page.locator("textarea")).fill(text)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(r"/jobs/\d+$"))
    return int(page.url.rsplit("/", 1)[1])


def test_a_wrong_password_is_refused_and_the_right_one_leads_back(page: Page, site: Stack) -> None:
    page.goto("/jobs?state=FAILED")
    page.get_by_label("User name").fill("tenant")
    page.get_by_label("Password", exact=True).fill("not the password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("wrong")
    page.get_by_label("Password", exact=True).fill(site.home.secrets()["tenant_password"])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/jobs?state=FAILED")
    expect(page.get_by_label("State", exact=True)).to_have_value("FAILED")


def test_the_overview_shows_every_sub_cluster_live(overview: Page) -> None:
    for name in ("west", "east"):
        card = overview.get_by_role("region", name=f"Sub-cluster {name}")
        expect(card).to_contain_text("Healthy")
        expect(card).to_contain_text("2 in service")
    expect(overview.get_by_role("status").filter(has_text="Live")).to_be_visible()


def test_submit_watch_to_the_end_and_fetch_a_file(overview: Page, tmp_path: Path) -> None:
    name = f"journey-{uuid.uuid4().hex[:8]}"
    submit(overview, JOB.format(name=name))
    expect(overview.get_by_role("heading", name=name)).to_be_visible()
    log = overview.get_by_test_id("log")
    expect(log).to_contain_text("line 1 of task")  # while it runs
    expect(overview.locator("h1 + [data-state]")).to_have_attribute("data-state", "SUCCEEDED")
    expect(log).to_contain_text("line 6 of task")
    expect(overview.get_by_test_id("group-after")).to_contain_text("1 of 1 done")
    assert overview.get_by_role("button", name=re.compile(r"^greet \d: Succeeded")).count() == 3
    overview.get_by_text("Files", exact=True).click()
    with overview.expect_download() as started:
        overview.get_by_role("link", name="Download greeting.txt of greet 1").click()
    saved = tmp_path / "greeting.txt"
    started.value.save_as(saved)
    assert saved.read_text() == "hello from 1\n"


def test_what_the_server_refuses_stands_at_its_line(signed_in: Page) -> None:
    text = "name: wrong\nqueue: root.nowhere\ngroups:\n  - name: a\n    count: 0\n    command: ['true']\n"
    signed_in.goto("/submit?view=text")
    signed_in.locator("textarea").fill(text)
    signed_in.get_by_role("button", name="Submit", exact=True).click()
    problems = signed_in.get_by_role("alert", name="Problems")
    expect(problems).to_contain_text("groups.0.count (group a, line 5, column 5)")
    expect(problems).to_contain_text("queue (line 2, column 1)there is no queue 'root.nowhere' that you may use")
    signed_in.locator("textarea").fill("name: [unclosed\n")
    expect(problems).to_contain_text("job (line 2, column 1)is not valid YAML: while parsing a flow sequence")
    expect(signed_in.get_by_role("button", name="Submit", exact=True)).to_be_disabled()
    signed_in.locator("textarea").fill(
        text.replace("root.nowhere", "root.default").replace("0", "${{ n }}") + "parameters: {n: }\n"
    )
    expect(problems).to_contain_text("parameters.n (line 7, column 14)has no value")
    signed_in.get_by_role("textbox", name="n", exact=True).fill("3")
    expect(signed_in.get_by_test_id("checked")).to_contain_text("The server would take it")


def test_a_waiting_job_says_why_and_can_be_killed(overview: Page) -> None:
    text = JOB.format(name="too-large").replace("memory_mib: 64", "memory_mib: 60000")
    job = submit(overview, text)
    expect(overview.get_by_test_id("waiting")).to_contain_text(re.compile(r"\d"))
    overview.get_by_role("button", name="Kill", exact=True).click()
    dialog = overview.get_by_role("dialog", name=f"Kill job {job}?")
    expect(dialog).to_contain_text(f"hydractl kill {job}")
    dialog.get_by_role("button", name="Kill the job").click()
    expect(overview.locator("h1 + [data-state]")).to_have_attribute("data-state", "KILLED")


def test_the_list_filters_on_the_server_and_stays_live(signed_in: Page, site: Stack) -> None:
    tag = f"t{uuid.uuid4().hex[:8]}"
    signed_in.goto(f"/jobs?tag={tag}")
    expect(signed_in.get_by_text("No job matches these filters")).to_be_visible()
    group = {"name": "a", "count": 1, "command": ["true"], "resources": {"memory_mib": 64, "vcores_milli": 100}}
    job = site.client().submit({"name": "listed", "queue": "root.default", "tags": [tag], "groups": [group]})
    row = signed_in.get_by_role("row").filter(has_text="listed")
    expect(row).to_contain_text(f"#{job.id}")
    expect(row).to_contain_text("Succeeded")


def test_a_change_of_page_is_told_to_everybody(overview: Page) -> None:
    assert overview.title() == "Overview · Hydra"
    overview.get_by_role("navigation").get_by_role("link", name="Queues").press("Enter")
    expect(overview.get_by_role("heading", name="Queues", level=1)).to_be_visible()
    expect(overview.locator("main")).to_be_focused()
    expect(overview.locator("[aria-live=polite]").filter(has_text="Queues")).to_have_count(1)
    assert overview.title() == "Queues · Hydra"


def test_signing_out_ends_what_the_tab_may_see_and_knows(overview: Page) -> None:
    overview.evaluate("window.known = 'what the page holds in memory'")
    overview.get_by_role("button", name="Sign out").click()
    overview.wait_for_url("**/login")
    assert overview.evaluate("window.known") is None
    overview.goto("/jobs")
    overview.wait_for_url("**/login?next=%2Fjobs")


def test_an_operator_sees_the_same_pages(page: Page, site: Stack) -> None:
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    page.goto("/")
    page.get_by_role("navigation").get_by_role("link", name="Fleet").click()
    page.get_by_role("link", name=re.compile("^west-1, Up")).click()
    expect(page.get_by_text("Enforces")).to_be_visible()


def test_a_job_file_that_is_left_is_there_again_until_it_is_sent(signed_in: Page) -> None:
    signed_in.goto("/submit?view=text")
    source = signed_in.get_by_role("textbox", name="Job file")
    source.fill("name: kept\ngroups:\n  - {name: g, command: ['true']}\n")
    signed_in.get_by_role("link", name="Jobs", exact=True).first.click()
    expect(signed_in.get_by_role("heading", name="Jobs", exact=True)).to_be_visible()
    signed_in.goto("/submit?view=text")
    expect(source).to_have_value(re.compile("^name: kept"))
    expect(signed_in.get_by_text("is back, and not sent yet")).to_be_visible()
    signed_in.get_by_role("button", name="Submit", exact=True).click()
    expect(signed_in).to_have_url(re.compile(r"/jobs/\d+"))
    signed_in.goto("/submit?view=text")
    expect(source).not_to_have_value(re.compile("^name: kept"))
    expect(signed_in.get_by_text("is back, and not sent yet")).to_be_hidden()


def test_a_schedule_begun_from_a_job_file_is_there_after_a_reload(signed_in: Page) -> None:
    signed_in.goto("/submit?view=text")
    signed_in.get_by_role("textbox", name="Job file").fill("name: handed\ngroups:\n  - {name: g, command: ['true']}\n")
    signed_in.get_by_role("button", name="Schedule it").click()
    name = signed_in.get_by_role("textbox", name="Name", exact=True).first
    name.fill("every-night")
    signed_in.reload()
    expect(name).to_have_value("every-night")
    expect(signed_in.get_by_role("textbox", name="Job file")).to_have_value(re.compile("^name: handed"))
    signed_in.get_by_role("button", name="Begin anew").click()
    expect(name).not_to_have_value("every-night")


def test_a_command_comes_back_when_it_was_tried_without_a_shell(signed_in: Page) -> None:
    signed_in.goto("/submit?view=form")
    command = signed_in.get_by_role("textbox", name="Command")
    command.fill('for i in 1 2; do echo "$i"; done > out\ncat out | wc')
    shell = signed_in.get_by_role("checkbox", name="Run it by a shell")
    shell.uncheck()
    expect(command).to_have_value(re.compile('^sh\n-c\nfor i in 1 2; do echo "\\$i"'))
    shell.check()
    expect(command).to_have_value('for i in 1 2; do echo "$i"; done > out\ncat out | wc')


def test_what_was_written_is_nobodys_after_a_sign_out(page: Page, site: Stack) -> None:
    sign_in(page, "tenant", site.home.secrets()["tenant_password"])
    page.goto("/submit?view=text")
    page.get_by_role("textbox", name="Job file").fill("name: secret\n")
    kept = "Object.keys(sessionStorage).filter((key) => key.startsWith('hydra.kept.tenant/'))"
    assert page.evaluate(kept) == ["hydra.kept.tenant/submit/"]
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(re.compile("/login"))
    assert page.evaluate(kept) == []
