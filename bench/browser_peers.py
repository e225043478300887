"""What others make of the same pages: Playwright; Playwright MCP and agent-browser where they are on the PATH."""

import asyncio
import json
import os
import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from angelia.browsers.chromium.program import find_chromium
from angelia.context.tokens import text_tokens


class Measured(Struct):
    """Seconds and tokens by the name of a page; seconds to a first page with its look, of a click, bytes of memory."""

    name: str
    seconds: dict[str, float] = {}
    tokens: dict[str, float] = {}
    first: float = 0.0
    click: float = 0.0
    memory: float = 0.0
    schemas: float = 0.0


def _program() -> str:
    found = find_chromium()
    assert found is not None  # else nothing is measured
    return str(found.path)


async def peers(pages: Mapping[str, str], episodes: Sequence[str], begin: str) -> list[Measured]:
    """Those that are here. `pages` are addresses by name, `episodes` more of them, in which `begin` runs first."""
    found = []
    if find_spec("playwright"):
        found.append(await playwright(pages, episodes, begin))
    if command := shutil.which("playwright-mcp"):
        found.append(await playwright_mcp(command, pages))
    if command := shutil.which("agent-browser"):
        found.append(await agent_browser(command, pages))
    return found


async def playwright(pages: Mapping[str, str], episodes: Sequence[str], begin: str) -> Measured:
    """Its own snapshot for models, by its Python library."""
    from playwright.async_api import async_playwright

    made = Measured("Playwright")
    start = time.perf_counter()
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=_program(), chromium_sandbox=os.getuid() != 0)
        page = await (await browser.new_context()).new_page()
        await page.goto(pages["buttons"])
        await page.aria_snapshot(mode="ai")
        made.first = time.perf_counter() - start
        clicks = []
        for _ in range(15):
            begun = time.perf_counter()
            await page.get_by_role("button").first.click()
            clicks.append(time.perf_counter() - begun)
        made.click = statistics.median(clicks)
        for name, url in pages.items():
            await page.goto(url)
            said, took = await page.aria_snapshot(mode="ai"), []
            for _ in range(3):
                begun = time.perf_counter()
                said = await page.aria_snapshot(mode="ai")
                took.append(time.perf_counter() - begun)
            made.seconds[name], made.tokens[name] = statistics.median(took), text_tokens(said)
        made.memory = memory_of(os.getpid())
        counts = []
        for url in episodes:
            await page.goto(url)
            await page.evaluate(begin)
            counts.append(text_tokens(await page.aria_snapshot(mode="ai")))
        made.tokens["episodes"] = statistics.median(counts) if counts else 0.0
        await browser.close()
    return made


async def playwright_mcp(command: str, pages: Mapping[str, str]) -> Measured:
    """What a model reads of its tools and of each page."""
    made = Measured("Playwright MCP")
    sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
    start = time.perf_counter()
    with TemporaryDirectory() as folder:
        async with asyncio.timeout(180):
            argv = [command, "--headless", "--isolated", *sandbox, "--executable-path", _program()]
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=-1, stdout=-1, stderr=-3, limit=1 << 26, cwd=folder
            )
            server = _McpServer(process)
            try:
                client = {"name": "bench", "version": "1"}
                asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
                await server.call("initialize", asked)
                await server.tell("notifications/initialized")
                tools = await server.call("tools/list", {})
                made.schemas = text_tokens(json.dumps(tools["tools"]))
                for name, url in pages.items():
                    await server.call("tools/call", {"name": "browser_navigate", "arguments": {"url": url}})
                    begun = time.perf_counter()
                    said = await server.call("tools/call", {"name": "browser_snapshot", "arguments": {}})
                    made.seconds[name] = time.perf_counter() - begun
                    made.tokens[name] = text_tokens("".join(part.get("text", "") for part in said["content"]))
                    made.first = made.first or time.perf_counter() - start
            finally:
                process.terminate()
                await process.wait()
    return made


class _McpServer:
    """One that is spoken to in lines of JSON."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._last = 0

    async def tell(self, method: str, **more: Any) -> None:
        """Say something that has no answer."""
        assert self._process.stdin is not None
        said = json.dumps({"jsonrpc": "2.0", "method": method, **more})
        self._process.stdin.write(said.encode() + b"\n")
        await self._process.stdin.drain()

    async def call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """What it answers."""
        assert self._process.stdout is not None
        self._last += 1
        await self.tell(method, id=self._last, params=params)
        while line := await self._process.stdout.readline():
            told = json.loads(line)
            if told.get("id") == self._last:
                return dict(told["result"])
        raise AssertionError(f"{method} was not answered")


async def agent_browser(command: str, pages: Mapping[str, str]) -> Measured:
    """A command for each look."""
    made = Measured("agent-browser")

    async def run(*arguments: str) -> str:
        more = {"AGENT_BROWSER_EXECUTABLE_PATH": _program(), "AGENT_BROWSER_SESSION": f"bench{os.getpid()}"}
        more |= {"AGENT_BROWSER_ARGS": "--no-sandbox"} if os.getuid() == 0 else {}
        process = await asyncio.create_subprocess_exec(
            command, *arguments, stdout=-1, stderr=-3, env={**os.environ, **more}
        )
        async with asyncio.timeout(60):
            said, _ = await process.communicate()
        if process.returncode:
            raise AssertionError(f"agent-browser {arguments[0]} ended with {process.returncode}")
        return said.decode()

    start = time.perf_counter()
    try:
        for name, url in pages.items():
            await run("open", url)
            begun = time.perf_counter()
            said = await run("snapshot")
            made.seconds[name], made.tokens[name] = time.perf_counter() - begun, text_tokens(said)
            made.first = made.first or time.perf_counter() - start
    finally:
        await run("close")
    return made


def memory_of(parent: int) -> float:
    """Bytes of all that a process has begun, each shared page by its share; 0 where the system does not say."""
    below, whole = [parent], 0.0
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    while below:
        for child in children.get(below.pop(), ()):
            below.append(child)
            try:
                lines = Path(f"/proc/{child}/smaps_rollup").read_text().splitlines()
            except OSError:
                return 0.0  # a process of Chromium's own sandbox shows itself to root alone
            whole += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return whole
