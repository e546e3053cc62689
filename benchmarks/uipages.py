"""What a browser sees of pages, and when: the moment at which a page answers, and the frames it draws while it moves.

Times are the page's own, in ms since its navigation began.
"""

import json
import time
from collections import Counter
from dataclasses import dataclass
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

from tests.browser.chromium import sign_in

WAIT_MS = 60_000
SIZE = {"width": 1280, "height": 900}
# Counts what arrives of the fleet's topic; nothing else is different from what people see.
WATCH = """(() => {
  window.seen = {wholes: 0, steps: 0, characters: 0};
  const Plain = window.WebSocket;
  window.WebSocket = class extends Plain {
    constructor(...words) {
      super(...words);
      this.addEventListener('message', (e) => {
        if (typeof e.data !== 'string' || !e.data.startsWith('{"topic":"fleet"')) return;
        window.seen[e.data.slice(0, 60).includes('"delta"') ? 'steps' : 'wholes'] += 1;
        window.seen.characters += e.data.length;
      });
    }
  };
})()"""
# All cells are there; then the pointer is over one of them, and its numbers are in a frame.
FLEET = """(wanted) => new Promise((done) => {
  const painted = () => performance.getEntriesByType('mark').filter((m) => m.name.startsWith('fleet-painted:'));
  const look = () => {
    const marks = painted();
    if (marks.length < wanted) return requestAnimationFrame(look);
    const canvas = document.querySelector('.heat canvas');
    const box = canvas.getBoundingClientRect();
    const at = {bubbles: true, clientX: box.left + 8, clientY: box.top + 24};
    const answer = () => {
      if (!document.querySelector('.heat .tip')) {
        canvas.dispatchEvent(new MouseEvent('mousemove', at));
        at.clientX += 1;
        return requestAnimationFrame(answer);
      }
      requestAnimationFrame(() => setTimeout(() => done({interactive_ms: performance.now(),
        painted_ms: Math.max(...painted().map((m) => m.startTime)), ...window.seen})));
    };
    answer();
  };
  look();
})"""
# A page's sign that it is there, then one whole frame after which the page has time to answer again.
THERE = """([selector, least]) => new Promise((done) => {
  const look = () => document.querySelectorAll(selector).length < least ? requestAnimationFrame(look)
    : requestAnimationFrame(() => setTimeout(() => done(performance.now())));
  look();
})"""
# Counts frames. A dot that differs in every frame has the browser draw each of them, as an animation would; with
# ``moving`` the pointer is over another cell in each, too.
FRAMES = """([ms, moving]) => { window.frames_of = new Promise((done) => {
  const at = [];
  const until = performance.now() + ms;
  const dot = document.body.appendChild(document.createElement('i'));
  Object.assign(dot.style, {position: 'fixed', left: 0, top: 0, width: '4px', height: '4px', zIndex: 9});
  const point = (n) => {
    const [x, y] = [300 + (n * 7) % 900, 120 + (n * 3) % 700];
    const where = {bubbles: true, clientX: x, clientY: y};
    document.elementFromPoint(x, y)?.dispatchEvent(new MouseEvent('mousemove', where));
  };
  const frame = (now) => {
    at.push(now);
    dot.style.background = at.length % 2 ? 'red' : 'blue';
    if (moving) point(at.length);
    if (now < until) return requestAnimationFrame(frame);
    dot.remove();
    done(at);
  };
  requestAnimationFrame(frame);
}); }"""
# Numbers that follow from every pixel of every map.
PIXELS = """() => [...document.querySelectorAll('.heat canvas')].map((c) => {
  const data = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);
  return data.reduce((sum, pixel) => (sum * 31 + pixel) >>> 0, 7);
})"""
LOADED = """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .filter((e) => e.entryType === 'navigation' || /\\.(js|css)$/.test(new URL(e.name).pathname))
  .map((e) => e.encodedBodySize)"""
TRACED = ["disabled-by-default-devtools.timeline.frame", "devtools.timeline.frame"]
DRAWN = "DrawFrame"


@dataclass(frozen=True)
class Sign:
    """At least so many elements of a selector say that a page is there."""

    path: str
    selector: str
    least: int = 1


PAGES = {
    "overview": Sign("/", '[data-testid^="sc-"]', 2),
    "queues": Sign("/queues", ".qtree [data-row]", 10),
    "queues_matrix": Sign("/queues?tab=matrix", "table.matrix .mcell", 2),
    "jobs": Sign("/jobs", "table tbody tr", 10),
    "policy_edit": Sign("/policy/edit", ".policy-rows [role=option]", 10),
    "policy_text": Sign("/policy/edit?view=text", ".cm-line", 10),
}


@dataclass(frozen=True)
class Look:
    """One opening of the fleet's page. painted_ms: the last map; interactive_ms: a cell has told its numbers."""

    painted_ms: float
    interactive_ms: float
    wholes: int
    steps: int
    characters: int


def session_of(browser: Any, url: str, account: str, password: str) -> Any:
    """The cookies of a session, for fresh contexts of their own."""
    context = browser.new_context(base_url=url)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    sign_in(page, account, password)
    state = context.storage_state()
    context.close()
    return state


class Tabs:
    """Tabs of one session, each in a context of its own: nothing is cached."""

    def __init__(self, browser: Any, url: str, session: Any) -> None:
        self._browser, self._url, self._session = browser, url, session

    def new(self, scheme: str = "light", size: dict[str, int] | None = None) -> Any:
        context = self._browser.new_context(
            base_url=self._url, storage_state=self._session, viewport=size or SIZE, color_scheme=scheme
        )
        context.add_init_script(WATCH)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        return page

    def fleet(self, sub_clusters: int, page: Any = None) -> Look:
        """Open the fleet's page, in a new tab or in this one, where its files are in the browser's cache."""
        mine = page or self.new()
        mine.goto("/fleet", wait_until="commit")
        look = Look(**mine.evaluate(FLEET, sub_clusters))
        if page is None:
            mine.context.close()
        return look

    def open(self, sign: Sign) -> float:
        page = self.new()
        page.goto(sign.path, wait_until="commit")
        took: float = page.evaluate(THERE, [sign.selector, sign.least])
        page.context.close()
        return took

    def gzip_kb(self, path: str, sign: Sign) -> float:
        """1,000 bytes of what the first page needs, as it travels: the page itself, scripts and styles."""
        page = self.new()
        page.goto(path, wait_until="load")
        page.evaluate(THERE, [sign.selector, sign.least])
        sizes: list[int] = page.evaluate(LOADED)
        page.context.close()
        return round(sum(sizes) / 1000, 1)


class Moving:
    """The live map of the fleet in one tab, and the ways in which people move on it."""

    def __init__(self, tabs: Tabs, sub_clusters: int) -> None:
        self.browser, self.page = tabs._browser, tabs.new()
        tabs.fleet(sub_clusters, self.page)

    def measure(self, way: str, seconds: float) -> dict[str, float]:
        """Frames per second while the loads of nodes change: as the page counts them, and as they were drawn."""
        page = self.page
        before, pixels = page.evaluate("() => ({...window.seen})"), page.evaluate(PIXELS)
        self.browser.start_tracing(page=page, categories=TRACED)
        began = time.monotonic()
        page.evaluate(FRAMES, [seconds * 1000, way == "pointer"])
        getattr(self, way)(began + seconds)
        at: list[float] = page.evaluate("() => window.frames_of")
        took_s = time.monotonic() - began
        events = Counter(event["name"] for event in json.loads(self.browser.stop_tracing())["traceEvents"])
        after = page.evaluate("() => ({...window.seen})")
        if way != "narrowing" and not all(a != b for a, b in zip(pixels, page.evaluate(PIXELS), strict=True)):
            raise SystemExit(f"bench ui-scale: a map did not change within {seconds} s")
        gaps = [b - a for a, b in pairwise(at)]
        return {
            "fps": round(1000 * len(gaps) / (at[-1] - at[0]), 1),
            "drawn_fps": round(events[DRAWN] / took_s, 1),
            "longest_frame_ms": round(max(gaps)),
            "steps_per_s": round((after["steps"] - before["steps"]) / took_s, 2),
            "mb_per_s": round((after["characters"] - before["characters"]) / took_s / 1e6, 2),
        }

    def still(self, until: float) -> None:
        """Nobody touches it."""
        time.sleep(max(0.0, until - time.monotonic()))

    def pointer(self, until: float) -> None:
        """The pointer is somewhere else in every frame, and twice a second the page is scrolled."""
        for way in cycle((240, 240, 240, -240, -240, -240)):
            if time.monotonic() > until:
                return
            self.page.mouse.wheel(0, way)
            self.page.wait_for_timeout(500)

    def narrowing(self, until: float) -> None:
        """One sub-cluster in large cells, then all of them again, as fast as it goes."""
        choice = self.page.get_by_label("Sub-cluster", exact=True)
        names = choice.locator("option").evaluate_all("found => found.map(o => o.value).filter(Boolean)")
        for name in cycle(names):
            if time.monotonic() > until:
                choice.select_option("")
                return
            choice.select_option(name)
            self.page.wait_for_timeout(400)
            choice.select_option("")
            self.page.wait_for_timeout(400)


def pictures(tabs: Tabs, folder: Path, sub_clusters: int) -> None:
    """The pages as they are, light and dark, at the size of a desk and of a phone, to be looked at."""
    folder.mkdir(parents=True, exist_ok=True)
    for scheme in ("light", "dark"):
        for name, size in {"desk": SIZE, "phone": {"width": 390, "height": 844}}.items():
            page = tabs.new(scheme, size)
            tabs.fleet(sub_clusters, page)
            page.wait_for_timeout(2500)
            page.screenshot(path=folder / f"fleet-{scheme}-{name}.png")
            page.screenshot(path=folder / f"fleet-{scheme}-{name}-whole.png", full_page=True)
            for other, sign in PAGES.items():
                page.goto(sign.path)
                page.evaluate(THERE, [sign.selector, sign.least])
                page.wait_for_timeout(1500)
                page.screenshot(path=folder / f"{other}-{scheme}-{name}.png")
            page.context.close()
