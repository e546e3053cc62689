"""Names that tenants choose are text and nothing else, wherever they are shown."""

import psycopg
from playwright.sync_api import Page, expect
from psycopg.types.json import Jsonb

from tests.browser.chromium import sign_in
from tests.patience import wait_until
from tests.stack import Stack

ATTACK = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>document.title='owned'</script>"


TABS = ("tasks", "attempts", "attempts&shape=table", "usage", "files", "events", "spec")
LIMIT = {"limit": ATTACK, "text": ATTACK, "asked": {ATTACK: 1}, "available": {}, "queue": ATTACK}
REASON = {
    "code": ATTACK,
    "text": ATTACK,
    "waiting": 1,
    "asked": {},
    "limits": [LIMIT],
    "position": None,
    "estimate": {"earliest_s": None, "latest_s": None, "text": ATTACK},
    "change": {"what": "wait", "text": ATTACK},
    "at": None,
}
POISON = (
    ("UPDATE statestore_taskgroup SET name = %s, state = 1, reason = %s WHERE job_id = %s", (ATTACK, Jsonb(REASON))),
    ("UPDATE statestore_jobevent SET kind = '<b>x</b>', message = %s WHERE job_id = %s", (ATTACK,)),
    ("UPDATE statestore_taskoutput SET name = '<b>x</b>', path = %s WHERE job_id = %s", (ATTACK,)),
    (
        "UPDATE statestore_job SET queue = %s, spec = jsonb_set(spec, '{name}', %s) WHERE id = %s",
        (ATTACK, Jsonb(ATTACK)),
    ),
)


def poison(site: Stack, job: int) -> None:
    """The same, in every text of the job that a page could show: groups, reasons, events, files, its specification."""
    with psycopg.connect(site.database_url()) as store:
        for sql, values in POISON:
            store.execute(sql, (*values, job))


def rename(site: Stack, job: int) -> None:
    """Put hostile names where the API refuses them: what is in the store must be shown as text all the same."""
    with psycopg.connect(site.database_url()) as store:
        changed = store.execute(
            "UPDATE statestore_job SET name = %s, tags = jsonb_build_array(%s::text), message = %s WHERE id = %s",
            (ATTACK, ATTACK, ATTACK, job),
        )
        assert changed.rowcount == 1


def test_hostile_names_are_shown_as_text(signed_in: Page, site: Stack) -> None:
    group = {
        "name": "a",
        "count": 1,
        "shell": True,
        "command": f'echo "{SCRIPT}"',
        "resources": {"memory_mib": 64, "vcores_milli": 100},
    }
    job = site.client().submit({"name": "meek", "queue": "root.default", "groups": [group]})
    signed_in.goto(f"/jobs/{job.id}")
    expect(signed_in.get_by_test_id("log")).to_contain_text(SCRIPT)
    expect(signed_in.locator("h1 + [data-state]")).to_have_attribute("data-state", "SUCCEEDED")
    rename(site, job.id)
    expect(signed_in.get_by_role("heading", name=ATTACK)).to_be_visible()
    assert signed_in.title() == f"{ATTACK} · Hydra"
    signed_in.goto("/jobs")
    expect(signed_in.get_by_role("link", name=ATTACK).first).to_be_visible()
    assert signed_in.locator("img[src=x]").count() == 0
    assert signed_in.title() == "Jobs · Hydra"  # the dialog listener of ``page`` has seen no alert either


def test_hostile_texts_are_text_on_every_part_of_a_job(signed_in: Page, site: Stack) -> None:
    group = {
        "name": "a",
        "count": 2,
        "shell": True,
        "command": "echo x > out.txt",
        "outputs": [{"name": "out", "path": "out.txt"}],
        "resources": {"memory_mib": 64, "vcores_milli": 100},
    }
    job = site.client().submit({"name": "meek", "queue": "root.default", "tags": ["x"], "groups": [group]})
    site.client().wait(job.id)
    rename(site, job.id)
    poison(site, job.id)
    view = site.client().save_view(ATTACK, "state=ended&tag=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    submit = f"/submit?from={job.id}"
    for place in (*(f"/jobs/{job.id}?tab={tab}" for tab in TABS), "/jobs", submit, f"{submit}&view=text"):
        signed_in.goto(place)
        shown = signed_in.get_by_text(ATTACK).or_(signed_in.locator(f"[value='{ATTACK}'], textarea"))
        expect(shown.first).to_be_attached()
        assert signed_in.locator("img[src=x]").count() == 0, place
    signed_in.goto("/jobs")
    signed_in.get_by_role("link", name=ATTACK).first.wait_for()
    site.client().delete_view(view.id)


def test_an_operator_is_not_reached_by_what_tenants_write(page: Page, site: Stack) -> None:
    """What runs, waits and is offered where operators look, under names that would act as them."""
    group = {"name": "a", "count": 1, "command": ["sleep", "120"], "resources": {"memory_mib": 64, "vcores_milli": 100}}
    job = site.client().submit({"name": "meek", "queue": "root.default", "tags": ["x"], "groups": [group]})
    on = wait_until(lambda: next((c.node for c in site.client().containers(job.id)), None), 20, "it runs")
    node = next(n.id for n in site.client("operator").nodes() if n.name == on)
    rename(site, job.id)
    with psycopg.connect(site.database_url()) as store:
        store.execute("UPDATE statestore_taskgroup SET name = %s WHERE job_id = %s", (ATTACK, job.id))
    sign_in(page, "operator", site.home.secrets()["operator_password"])
    names = (f"/fleet/nodes/{node}", f"/jobs/{job.id}", "/jobs")
    others = ("/", "/fleet", "/queues?queue=root.default", f"/policy/audit?target=job/{job.id}", "/admin")
    for place in names + others:
        page.goto(place)
        expect(page.get_by_role("main").get_by_role("heading").first).to_be_visible()
        if place in names:
            expect(page.get_by_text(ATTACK).first).to_be_attached()
        assert page.locator("img[src=x]").count() == 0, place
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill(ATTACK[:8])
    expect(page.get_by_role("option", name=f"{ATTACK} #{job.id}")).to_be_visible()
    assert page.locator("img[src=x]").count() == 0 and "owned" not in page.title()
    site.client().kill(job.id)


def test_the_policy_refuses_inline_scripts(signed_in: Page) -> None:
    response = signed_in.request.get("/jobs")
    policy = response.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert response.headers["cache-control"] == "no-store"


def test_a_foreign_next_address_is_not_followed(page: Page, site: Stack) -> None:
    page.goto("/login?next=//evil.example/")
    page.get_by_label("User name").fill("tenant")
    page.get_by_label("Password", exact=True).fill(site.home.secrets()["tenant_password"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    assert page.url == f"{site.url}/"
