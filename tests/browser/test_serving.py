"""A job's own page in a real browser: it works, and it has nothing of its viewer's."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from client import Client
from contract.jobs import Job
from tests.browser.barriers import barriers
from tests.patience import wait_until
from tests.stack import Stack
from tests.stores import ROOT

# What a hostile page would try; each line says what became of it.
HOSTILE = """
import http.server, os
PAGE = b'''<!doctype html><title>Hostile</title><pre id=out></pre><script>
const out = [];
const attempt = async (name, what) => {
  try { out.push(name + ": " + await what()); } catch (e) { out.push(name + ": refused"); }
  document.querySelector("#out").textContent = out.join("\\\\n");
};
(async () => {
  await attempt("origin", () => window.origin);
  await attempt("cookie", () => document.cookie || "none");
  await attempt("storage", () => localStorage.length);
  await attempt("api", async () => (await fetch("/api/v1/me", {credentials: "include"})).status);
  await attempt("blind", async () => (await fetch("/api/v1/me", {credentials: "include", mode: "no-cors"})).type);
  await attempt("opener", () => window.opener ? "there" : "none");
  await attempt("socket", () => new Promise((good, bad) => {
    const s = new WebSocket(location.origin.replace("http", "ws") + "/ws/v1");
    s.onopen = () => good("open"); s.onerror = bad; }));
  out.push("done");
  document.querySelector("#out").textContent = out.join("\\\\n");
})();
</script>'''
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "sessionid=stolen; Path=/")
        self.end_headers()
        self.wfile.write(PAGE)
http.server.ThreadingHTTPServer(("", int(os.environ["HYDRA_PORT_HTTP"])), H).serve_forever()
"""


@pytest.fixture
def tenant(site: Stack) -> Iterator[Client]:
    client = site.client("tenant")
    before = {j.id for j in client.jobs(state="live")}
    yield client
    for job in client.jobs(state="live"):
        if job.id not in before:
            client.kill(job.id)


def served(tenant: Client, job: Job) -> None:
    wait_until(lambda: any(e.healthy for e in tenant.endpoints(job.id)), 60, f"{job.name} serves")


def test_the_link_on_the_jobs_page_opens_its_own_page(signed_in: Page, tenant: Client) -> None:
    job = tenant.submit(ROOT / "examples" / "web-service" / "job.yaml")
    served(tenant, job)
    signed_in.goto(f"/jobs/{job.id}")
    card = signed_in.get_by_role("region", name="Serves at")
    expect(card.locator("[data-state=HEALTHY]")).to_have_count(2)
    with signed_in.context.expect_page() as opened:
        card.get_by_role("link", name="Open http of web 0").click()
    page = opened.value
    expect(page.get_by_role("heading", name="Guest book of web/0")).to_be_visible()
    expect(page.locator("#you")).to_have_text("tenant")  # its module script and its fetch have come through
    page.get_by_role("button", name="Sign").click()
    expect(page.locator("#names li")).to_have_text(["tenant"])
    assert page.evaluate("window.origin") == "null"


def test_a_service_is_scaled_and_restarted_from_its_page(signed_in: Page, tenant: Client) -> None:
    job = tenant.submit(ROOT / "examples" / "web-service" / "job.yaml")
    served(tenant, job)
    signed_in.goto(f"/jobs/{job.id}")
    group = signed_in.get_by_test_id("group-web")
    signed_in.get_by_role("button", name="Scale", exact=True).click()
    asked = signed_in.get_by_role("dialog")
    asked.get_by_label("Tasks").fill("3")
    expect(asked).to_contain_text(f"hydractl scale {job.id} web 3")
    asked.get_by_role("button", name="Scale", exact=True).click()
    expect(group).to_contain_text("3 of 3 running")
    signed_in.get_by_role("button", name="Restart", exact=True).click()
    asked = signed_in.get_by_role("dialog")
    asked.get_by_label("Index of one task").fill("1")
    expect(asked).to_contain_text(f"hydractl restart {job.id} web 1")
    asked.get_by_role("button", name="Restart", exact=True).click()
    expect(asked).to_have_count(0)

    def again() -> bool:
        return any(task.index == 1 and task.attempts == 2 and task.state == "RUNNING" for task in tenant.tasks(job.id))

    wait_until(again, 60, "the task has started again")
    signed_in.get_by_role("link", name="Update", exact=True).click()
    text = signed_in.get_by_role("textbox", name="Job file")
    expect(text).to_have_value(re.compile("guest-book"))
    expect(signed_in.get_by_test_id("checked")).to_have_text("Nothing: it runs this already")
    text.fill(text.input_value().replace("grace_s: 1", "grace_s: 0"))
    expect(signed_in.get_by_test_id("changes")).to_have_text("web.grace_s: 1 -> 0")
    signed_in.get_by_text("How carefully").click()
    signed_in.get_by_label("Failures borne").fill("3")
    expect(signed_in.locator(".page-head")).to_contain_text(f"hydractl update {job.id} job.yaml --max-failures 3")
    assert barriers(signed_in) == []
    signed_in.get_by_role("button", name="Roll out").click()
    expect(signed_in.get_by_test_id("revision")).to_contain_text("2")
    wait_until(lambda: not tenant.job(job.id).rollout, 60, "the revision is rolled out")
    _roll_back(signed_in, tenant, job.id)


def _roll_back(page: Page, tenant: Client, job_id: int) -> None:
    page.get_by_role("button", name="Roll back", exact=True).click()
    asked = page.get_by_role("dialog")
    expect(asked.get_by_label("The last one that did not fail and ran something else")).to_be_checked()
    first = asked.get_by_label(re.compile(r"Revision 1.*by tenant"))
    first.check()
    asked.get_by_text("How carefully").click()
    asked.get_by_label("Serves after").fill("1")
    expect(asked).to_contain_text(f"hydractl rollback {job_id} --to 1 --min-ready 1")
    assert barriers(page) == []
    asked.get_by_role("button", name="Roll back", exact=True).click()
    expect(page.get_by_test_id("revision")).to_contain_text("3")
    assert tenant.revisions(job_id)[0].back == 1
    page.get_by_role("radiogroup", name="Parts of the job").get_by_text("Revisions").click()
    rows = page.get_by_role("table", name="Revisions, the newest first").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("Back to what 1 ran")
    expect(rows.nth(1)).to_contain_text("in force")
    expect(rows.nth(2)).to_contain_text("web.grace_s: 1 -> 0")
    wait_until(lambda: not tenant.job(job_id).rollout, 60, "it is as it was")
    page.get_by_role("button", name="Roll back", exact=True).click()
    asked.get_by_label(re.compile(r"Revision 1.*by tenant")).check()
    asked.get_by_role("button", name="Roll back", exact=True).click()
    expect(asked).to_contain_text("Nothing is begun: it runs this already, as revision 3.")


def test_a_hostile_page_gets_nothing_of_its_viewers(signed_in: Page, tenant: Client) -> None:
    spec = {
        "name": "hostile", "kind": "service",
        "groups": [{
            "name": "web", "command": ["python3", "-c", HOSTILE], "ports": [{"name": "http"}],
            "health_check": {"port": "http", "tcp": True}, "resources": {"memory_mib": 128, "vcores_milli": 100},
        }],
    }  # fmt: skip
    job = tenant.submit(spec)
    served(tenant, job)
    cookies = {c["name"]: c["value"] for c in signed_in.context.cookies()}
    page = signed_in.context.new_page()
    page.goto(f"/proxy/{job.id}/http/")
    expect(page.locator("#out")).to_contain_text("done")
    said = dict(line.split(": ") for line in page.locator("#out").inner_text().splitlines() if ": " in line)
    assert said == {
        "origin": "null", "cookie": "refused", "storage": "refused", "api": "refused", "blind": "opaque",
        "opener": "none", "socket": "refused",
    }  # fmt: skip
    assert {c["name"]: c["value"] for c in signed_in.context.cookies()} == cookies
    signed_in.goto("/jobs")
    expect(signed_in.get_by_role("heading", level=1)).to_be_visible()  # still signed in
