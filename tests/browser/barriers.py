"""What keeps somebody from using a page: faults that axe finds in it, by light and in the dark."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

_THERE = "window.axe !== undefined"
_RUN = "options => axe.run(options).then(found => found.violations)"
_COLOURS = {"runOnly": ["color-contrast"]}  # no other rule depends on the scheme


def barriers(page: Page) -> list[str]:
    """A line for each fault of the page as it stands: every rule in light, then the rules of colour in dark."""
    found = _faults(page, "light", {}) + _faults(page, "dark", _COLOURS)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    return found


def _faults(page: Page, scheme: str, options: dict) -> list[str]:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", scheme)
    if not page.evaluate(_THERE):
        page.evaluate(Axe().axe_script)
    violations = page.evaluate(_RUN, {"resultTypes": ["violations"], **options})
    return [
        f"{scheme}: {violation['id']}: {node['html'][:160]}: {node['failureSummary']}"
        for violation in violations
        for node in violation["nodes"][:3]
    ]
