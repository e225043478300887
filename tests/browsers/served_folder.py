"""A folder of pages on this machine's loopback, and a tab that reaches nothing else."""

import functools
import http.server
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.tab import Tab


class Quiet(http.server.SimpleHTTPRequestHandler):
    """It keeps no log."""

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """Serve it; the port."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@asynccontextmanager
async def tab_at(name: str, port: int) -> AsyncIterator[Tab]:
    """A tab for pages of this host."""

    async def addresses(origin: str, host: str, wanted: int) -> Sequence[str]:
        assert (host, wanted) == (name, port), origin
        return ["127.0.0.1"]

    browser = ChromiumBrowser(addresses)
    try:
        yield await browser.opened()
    finally:
        await browser.close()
