"""A guest book: a page, the script it loads, and an API that the script uses. All addresses are relative."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TASK = f"{os.environ['HYDRA_GROUP']}/{os.environ['HYDRA_TASK_INDEX']}"
PAGE = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Guest book</title>
<h1>Guest book of {TASK}</h1>
<p>You are <b id="you">…</b>, visitor <b id="count">…</b> of this task.</p>
<button>Sign</button><ul id="names"></ul>
<script type="module" src="page.js"></script>
"""
SCRIPT = """
const show = (book) => {
  document.querySelector("#you").textContent = book.you;
  document.querySelector("#count").textContent = book.visits;
  document.querySelector("#names").replaceChildren(...book.names.map((name) => {
    const line = document.createElement("li");
    line.textContent = name;
    return line;
  }));
};
show(await (await fetch("book")).json());
document.querySelector("button").onclick = async () => show(await (await fetch("book", { method: "POST" })).json());
"""


class Book(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    names: list[str] = []
    visits = 0

    def answer(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def book(self) -> None:
        you = self.headers.get("X-Hydra-User", "unknown")
        self.answer("application/json", json.dumps({"you": you, "visits": Book.visits, "names": Book.names}))

    def do_GET(self) -> None:
        if self.path == "/":
            Book.visits += 1
            self.answer("text/html", PAGE)
        elif self.path == "/page.js":
            self.answer("text/javascript", SCRIPT)
        elif self.path == "/healthz":
            self.answer("text/plain", "well")
        elif self.path == "/book":
            self.book()
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        Book.names.append(self.headers.get("X-Hydra-User", "unknown"))
        self.book()

    def log_message(self, form: str, *values: object) -> None:
        if self.path != "/healthz":
            super().log_message(form, *values)


if __name__ == "__main__":
    port = int(os.environ["HYDRA_PORT_HTTP"])
    print(f"serving at {os.environ['HYDRA_HOST']}:{port}")
    ThreadingHTTPServer(("", port), Book).serve_forever()
