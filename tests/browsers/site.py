"""A site on this machine's loopback that serves what a test hands it, and writes down what it was asked."""

import asyncio
from dataclasses import dataclass, field


@dataclass
class Site:
    """Pages by path; what is not there is a 404. `asked` has the first lines of all requests, `heads` the whole of
    what stands before a body, `cookies` what each was sent.

    `headers` are lines of a path's own, `statuses` other ones than `200 OK`; what is in `cut` breaks off in the middle.
    What is in `unanswered` waits for its event before a word is said, what is in `held` in the middle. When what is in
    `signals` is asked for, its event is set.
    """

    pages: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    unanswered: dict[str, asyncio.Event] = field(default_factory=dict)
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    signals: dict[str, asyncio.Event] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    cookies: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    port: int = 0

    def url(self, path: str = "/", host: str = "site.example") -> str:
        """Where a page is; every name leads here."""
        return f"http://{host}:{self.port}{path}"

    def clear(self) -> None:
        """Forget the pages, and what was asked."""
        for event in (*self.unanswered.values(), *self.held.values()):
            event.set()
        for kept in (self.pages, self.headers, self.statuses, self.unanswered, self.held, self.signals):
            kept.clear()
        for heard in (self.cut, self.asked, self.bodies, self.cookies, self.heads):
            heard.clear()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lines = head.split("\r\n")
            self.asked.append(lines[0])
            self.heads.append(head)
            self.cookies.append(next((line[8:] for line in lines if line.lower().startswith("cookie: ")), ""))
            length = next((int(line[15:]) for line in lines if line.lower().startswith("content-length:")), 0)
            self.bodies.append(await reader.readexactly(length))
            path = lines[0].split(" ")[1].partition("?")[0]
            page = self.pages.get(path)
            if path in self.signals:
                self.signals[path].set()
            if path in self.unanswered:
                await self.unanswered[path].wait()
            if page is not None and page.startswith("→"):
                answer = f"HTTP/1.1 302 Found\r\nlocation: {page[1:]}\r\ncontent-length: 0\r\n"
                page = ""
            else:
                status = self.statuses.get(path, "200 OK" if page is not None else "404 Not Found")
                kind = "text/javascript" if path.endswith(".js") else "text/html; charset=utf-8"
                page = page or ""
                answer = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(page.encode())}\r\n"
            answer += self.headers.get(path, "")
            half = len(page) // 2
            page, rest = (page[:half], page[half:]) if path in self.cut or path in self.held else (page, "")
            writer.write(f"{answer}access-control-allow-origin: *\r\nconnection: close\r\n\r\n{page}".encode())
            await writer.drain()
            if path in self.held:
                await self.held[path].wait()
                writer.write(b"" if path in self.cut else rest.encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # a browser opens connections that it does not use
        finally:
            writer.close()
