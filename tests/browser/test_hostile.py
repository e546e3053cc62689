"""Names that tenants choose are text and nothing else, wherever they are shown."""

import psycopg
from playwright.sync_api import Page, expect

from tests.stack import Stack

ATTACK = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>document.title='owned'</script>"


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
    assert signed_in.title() == "Hydra"  # the dialog listener of ``page`` has seen no alert either


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
