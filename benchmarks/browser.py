"""A real browser for benchmarks of pages."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def browser_for(bench: str) -> Iterator[Any]:
    """The system's chromium, without a window; without one the benchmark ends and says what it needs."""
    try:
        from playwright.sync_api import sync_playwright

        from tests.browser.chromium import ARGUMENTS, chromium
    except ImportError:
        sys.exit(f"bench {bench}: needs playwright, which is in requirements-dev.txt")
    path = chromium()
    if path is None:
        sys.exit(f"bench {bench}: no chromium here: install it, or name one with HYDRA_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()
