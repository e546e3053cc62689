"""What keeps somebody from using a page: faults that axe finds in it, by light and in the dark."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize, expect

_THERE = "window.axe !== undefined"
_RUN = "options => axe.run(options).then(found => found.violations)"
_DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
_OVER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PHONE: ViewportSize = {"width": 390, "height": 844}
_COLOURS = {"runOnly": ["color-contrast"]}  # no other rule depends on the scheme
_ALL_BUT_COLOURS = {"rules": {"color-contrast": {"enabled": False}}}


def barriers(page: Page) -> list[str]:
    """A line for each fault of the page as it stands: every rule in light, then the rules of colour in dark."""
    found = _faults(page, "light", {}) + _faults(page, "dark", _COLOURS)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    return found


def barriers_on_a_phone(page: Page) -> list[str]:
    """The same page, made as narrow as a phone: by every rule but colour, and whether it is wider than that.

    Colours are those of the wide page.
    """
    before = page.viewport_size
    page.set_viewport_size(PHONE)
    page.evaluate(_DRAWN)
    found = _faults(page, "light", _ALL_BUT_COLOURS)
    if (over := page.evaluate(_OVER)) > 0:
        found.append(f"{over} px wider than a phone")
    if before:
        page.set_viewport_size(before)
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
