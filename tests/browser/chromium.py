"""Where the system's chromium is, how it is started, and how somebody signs in with it."""

import os
import shutil
from typing import Any

ARGUMENTS = [
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--js-flags=--max-lazy --no-opt --no-maglev",  # pages that live for seconds never earn what compilers cost
    *(["--no-sandbox"] if os.geteuid() == 0 else []),  # chromium's sandbox refuses root
]


def chromium() -> str | None:
    """Path of the system's chromium, or of the one HYDRA_CHROMIUM names; ``None`` without one.

    The headless shell comes first: it draws no window of its own, which is a third of a whole chromium's work.
    """
    named = os.environ.get("HYDRA_CHROMIUM", "")
    names = (named, "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    found = (shutil.which(name) for name in names if name)
    return next((path for path in found if path), None)


_sessions: dict[tuple[str, str], Any] = {}  # cookies of those who have signed in, by name and password


def sign_in(page: Any, name: str, password: str) -> None:
    """Sign in on a Playwright page. Who has done so before still is, and goes nowhere: the test opens what it wants."""
    context = page.context
    context.add_cookies(_sessions.get((name, password), []))
    if (name, password) in _sessions and context.request.get("/api/v1/me").ok:
        return
    page.goto("/")
    form, first = page.get_by_label("User name"), page.get_by_role("heading", name="Overview")
    form.or_(first).first.wait_for()
    if form.is_visible():
        form.fill(name)
        page.get_by_label("Password", exact=True).fill(password)
        page.get_by_role("button", name="Sign in").click()
        first.wait_for()
        _sessions[name, password] = page.context.cookies()
