"""Pictures of every page in light and dark, to be looked at: ``python tests/browser/screenshots.py --out FOLDER``.

Wants a running stack (``manage.py up``), whose folder it reads the logins from,
and submits a few jobs to it so that there is something to see.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.patience import let_pass, wait_until

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from client import Client  # noqa: E402 - the project's folder comes first
from tests.browser.chromium import ARGUMENTS, chromium  # noqa: E402
from tests.browser.registry import Entry, pages  # noqa: E402

POLICY_PARTS = ("edit", "history", "proposals", "overrides", "rollouts", "simulations", "audit")
SIZES = {"desk": (1280, 820), "phone": (390, 844)}
FIT = """for i in $(seq 12); do
  echo "task $HYDRA_TASK_INDEX: epoch $i of 12, loss 0.$((900 / i + HYDRA_TASK_INDEX))"
  sleep 0.5
done
exit $((HYDRA_TASK_INDEX % 23 == 7 && HYDRA_ATTEMPT == 1))"""


def group(name: str, count: int, command: str, after: tuple[str, ...] = ()) -> dict[str, Any]:
    resources = {"memory_mib": 256, "vcores_milli": 500}
    return {
        "name": name,
        "count": count,
        "shell": True,
        "command": command,
        "after": list(after),
        "resources": resources,
        "retries": 2,
    }


SWEEP = {
    "name": "model-sweep",
    "queue": "root.default",
    "tags": ["nightly"],
    "groups": [
        group("prepare", 1, "echo reading the data set; sleep 1"),
        group("fit", 240, FIT, ("prepare",)),
        group("score", 6, "sleep 2", ("prepare",)),
        group("choose", 1, "echo best", ("fit", "score")),
    ],
}


def submit(client: Client) -> tuple[int, int]:
    """The example, to its end; then a larger job that is running and waiting when the pictures are taken."""
    done = client.submit(ROOT / "examples" / "stdlib-census" / "job.yaml").id
    wait_until(lambda: client.job(done).finished_at, 120, "the example has ended", 0.5)
    busy = client.submit(SWEEP).id
    wait_until(lambda: client.job(busy).groups[1].succeeded >= 4, 120, "the larger one runs", 0.5)
    return done, busy


def sign_in(page: Page, url: str, role: str, password: str) -> None:
    page.goto(f"{url}/login")
    page.get_by_label("User name").fill(role)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Overview").wait_for()


def addresses(role: str, entries: list[Entry], done: int, busy: int) -> dict[str, str]:
    """Name of the picture -> address: every page of the registry, and what lies below some of them."""
    found = {entry.to.strip("/").replace("/", "-") or "overview": entry.to for entry in entries if entry.shown_to(role)}
    if role == "tenant":
        jobs = {"job": f"/jobs/{busy}", "result": f"/jobs/{done}?tab=files"}
        tabs = {f"job-{tab}": f"/jobs/{busy}?tab={tab}" for tab in ("attempts", "usage", "events", "spec")}
        views = {"queues-use": "/queues?tab=use", "submit": "/submit", "submit-text": "/submit?view=text"}
        return found | jobs | tabs | views
    found |= {f"policy-{part}": f"/policy/{part}" for part in POLICY_PARTS}
    found |= {f"queues-{tab}": f"/queues?tab={tab}" for tab in ("matrix", "use")}
    found |= {"queue": "/queues?queue=root.default", "compare": "/fleet/compare", "node": "/fleet/nodes/1"}
    return found | {"admin-accounts": "/admin/accounts", "admin-joining": "/admin/joining"}


def take(browser: Browser, url: str, role: str, password: str, shown: dict[str, str], out: Path) -> None:
    for scheme in ("light", "dark"):
        for size, (width, height) in SIZES.items():
            context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
            page = context.new_page()
            page.goto(f"{url}/login")
            page.get_by_role("button", name="Sign in").wait_for()
            page.screenshot(path=out / f"login-{scheme}-{size}.png")
            sign_in(page, url, role, password)
            for name, path in shown.items():
                page.goto(url + path)
                page.get_by_role("heading", level=1).first.wait_for()
                let_pass(1.5)  # a picture of live data: let the first snapshots arrive
                page.screenshot(path=out / f"{name}-{role}-{scheme}-{size}.png")
            page.keyboard.press("Control+k")
            page.get_by_role("combobox", name="Find").fill("jo")
            let_pass(0.8)
            page.screenshot(path=out / f"palette-{role}-{scheme}-{size}.png")
            context.close()


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--home", type=Path, default=Path(os.environ.get("HYDRA_HOME", ROOT / ".hydra")))
    words.add_argument("--url", default="http://127.0.0.1:8470")
    words.add_argument("--out", type=Path, required=True)
    words.add_argument("--only", default="", help="pictures whose name contains it")
    given = words.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    secrets = json.loads((given.home / "secrets.json").read_text())
    with Client(given.url) as anonymous:
        token = anonymous.login("tenant", secrets["tenant_password"]).token
    with Client(given.url, token) as client:
        done, busy = submit(client)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        for role in ("tenant", "operator"):
            shown = {n: at for n, at in addresses(role, pages(), done, busy).items() if given.only in n}
            take(browser, given.url, role, secrets[f"{role}_password"], shown, given.out)
        browser.close()


if __name__ == "__main__":
    main()
