"""A page that shows an answer as it grows:  python stream_to_browser.py, then open http://127.0.0.1:8000/?ask=hello.

One process, one folder, the standard library. Who closes the page stops the turn.
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from angelia import BlockingAgent, NotAnswered, events

PORT = int(os.environ.get("PORT", "8000"))


class Page(BaseHTTPRequestHandler):
    """Answers `GET /?ask=…` with text, piece by piece."""

    def do_GET(self) -> None:
        """Ask, and write what comes."""
        question = parse_qs(urlsplit(self.path).query).get("ask", [""])[0]
        self.send_response(200 if question else 400)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.end_headers()
        if not question:
            return
        with agent.stream(question) as turn:
            try:
                for event in turn:
                    match event:
                        case events.TextArrived(text):
                            self.write(text)
                        case events.CallBegan(_, tool):
                            self.write(f"\n[{tool}]\n")
                        case events.TextDropped(why):
                            self.write(f"\n[{why}; once more:]\n")
                        case _:
                            pass
            except NotAnswered as error:
                self.write(f"\n{error}\n")

    def write(self, text: str) -> None:
        """Send it now."""
        self.wfile.write(text.encode())
        self.wfile.flush()


with BlockingAgent() as agent, ThreadingHTTPServer(("127.0.0.1", PORT), Page) as server:
    print(f"http://127.0.0.1:{server.server_port}/?ask=hello", file=sys.stderr, flush=True)
    server.serve_forever()
