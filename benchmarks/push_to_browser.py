"""An operator's policy push until a browser's page shows the new version for every sub-cluster."""

import argparse
import time
from typing import Any

from benchmarks.browser import browser_for
from benchmarks.hollow_rm import wait_for_kernels
from benchmarks.stack import percentile, stack
from client import Client
from tests.browser.chromium import sign_in

SHOWN_MAX_S = 30.0
PAUSE_S = 0.37  # no whole multiple of any interval in the stack, so that pushes meet every phase of them
# Notes when the last card has come to show a version, once the frame with it is there: version -> ms since 1970.
WATCH = """() => {
  window.shownAt = {};
  const look = () => {
    const cards = [...document.querySelectorAll('[data-testid^="sc-"] dl.facts')];
    const shown = new Set(cards.map(c => (c.textContent.match(/Policy(v\\d+)/) || [])[1]).filter(Boolean));
    const [version] = shown;
    if (shown.size === 1 && !(version in window.shownAt)) {
      window.shownAt[version] = 0;
      requestAnimationFrame(() => setTimeout(() => { window.shownAt[version] = Date.now(); }));
    }
  };
  new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true});
  look();
}"""


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench push-to-browser")
    parser.add_argument("--pushes", type=int, default=200)
    parser.add_argument("--sub-clusters", type=int, default=2)
    options = parser.parse_args(argv)
    with (
        browser_for("push-to-browser") as browser,
        stack("--sub-clusters", str(options.sub_clusters), "--nodes", "1") as running,
    ):
        wait_for_kernels()
        page = browser.new_context(base_url=running.url).new_page()
        sign_in(page, "operator", running.home.secrets()["operator_password"])
        page.wait_for_selector('[data-testid^="sc-"]')
        page.evaluate(WATCH)
        with running.client("operator") as operator:
            return figures([push(operator, page, number) for number in range(options.pushes)])


def push(operator: Client, page: Any, number: int) -> tuple[float, float]:
    """Milliseconds from before the request until it was answered, and until every card shows its version."""
    document = operator.policy().document or {}
    document["components"]["locality"]["parameters"]["node_wait_s"] = 3.0 + number % 2 + 1
    began = time.time()
    version = operator.apply_policy(document, f"push {number}").version
    answered = time.time()
    page.wait_for_function(f"() => window.shownAt['v{version}'] > 0", timeout=SHOWN_MAX_S * 1000)
    shown_ms = page.evaluate(f"() => window.shownAt['v{version}']")
    time.sleep(PAUSE_S)
    return (answered - began) * 1000, shown_ms - began * 1000


def figures(pushes: list[tuple[float, float]]) -> dict[str, Any]:
    answered, shown = ([each[at] for each in pushes] for at in range(2))
    return {
        "p50_ms": round(percentile(shown, 0.5)),
        "p99_ms": round(percentile(shown, 0.99)),
        "max_ms": round(max(shown)),
        "answered_p50_ms": round(percentile(answered, 0.5)),
        "answered_p99_ms": round(percentile(answered, 0.99)),
        "pushes": len(pushes),
    }
